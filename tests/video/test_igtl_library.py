"""What OpenIGTLink's own library, which 3D Slicer and PLUS are built with, reads of what we send."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bdis.video.live.igtl import DEPTH, LEFT, MAX_POINTS, POINTS, SIGMA, STATUS, IgtlOutput
from bdis.video.live.listening import Address

from .live_frames import HEIGHT, WIDTH, depth_frame, scene

CLIENT = Path(__file__).parents[1] / "connections" / "igtl_client.cpp"
HEADERS = Path("/usr/include/openigtlink")
UINT8, FLOAT32, SCALAR, VECTOR = 3, 10, 0, 1


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    if shutil.which("g++") is None or not HEADERS.is_dir():
        pytest.skip("no OpenIGTLink library with its headers, or no g++ (make peers)")
    program = tmp_path_factory.mktemp("igtl") / "client"
    command = ["g++", "-o", program, CLIENT, f"-I{HEADERS}", "-lOpenIGTLink", "-lpthread"]
    subprocess.run(command, check=True, timeout=120)
    return program


def test_the_library_reads_every_message_with_its_check_sum(client):
    pair, rig = scene()
    frame = depth_frame(7)
    with IgtlOutput(Address("127.0.0.1", 0), rig) as output:
        command = [client, str(output.address.port), "5"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(100):  # until it is connected
                output.offer(frame)
                try:
                    text = process.communicate(timeout=0.1)[0]
                    break
                except subprocess.TimeoutExpired:
                    continue
            else:
                process.kill()
    assert process.returncode == 0
    got = {message["device"]: message for message in map(json.loads, text.splitlines())}
    depth_mm, sigma_mm = rig.depth(frame.result), rig.depth_sigma(frame.result)
    middle = (HEIGHT // 2, WIDTH // 2)
    # Its origin is the centre of the picture, and its matrix has no spacing.
    spacing = 100 / rig.focal_px
    centre = [((WIDTH - 1) / 2 - rig.cx) * spacing, ((HEIGHT - 1) / 2 - rig.cy) * spacing, 100]
    for device, scalar, components in ((LEFT, UINT8, 3), (DEPTH, FLOAT32, 1), (SIGMA, FLOAT32, 1)):
        image = got[device]
        assert image["size"] == [WIDTH, HEIGHT, 1]
        assert (image["scalar"], image["components"]) == (scalar, components)
        assert image["spacing"] == pytest.approx([spacing, spacing, 1], rel=1e-6)
        assert image["centre"] == pytest.approx(centre, abs=1e-4)
    assert got[DEPTH]["middle"] == pytest.approx(depth_mm[middle], rel=1e-6)
    assert got[SIGMA]["middle"] == pytest.approx(sigma_mm[middle], rel=1e-6)
    points = got[POINTS]
    assert 0 < points["points"] == points["vertices"] <= MAX_POINTS
    row, column = np.argwhere(np.isfinite(depth_mm))[0]
    x, y, z = points["first"]
    assert [rig.cx + rig.focal_px * x / z, rig.cy + rig.focal_px * y / z] == pytest.approx([column, row], abs=1e-2)
    sigma, color = points["attributes"]["Sigma_mm"], points["attributes"]["Color"]
    assert sigma == [SCALAR, 1, pytest.approx(sigma_mm[row, column], rel=1e-6)]
    assert color == [VECTOR, 3, pytest.approx(pair.left[row, column, 0] / 255, abs=1e-6)]
    assert got[STATUS]["text"].startswith("frame 7, 0.280 s, ")
