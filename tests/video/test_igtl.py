"""OpenIGTLink end to end: what a client of pyigtl gets, what the source takes from a server, and rude peers."""

import contextlib
import logging
import socket
import struct
import threading
import time

import numpy as np
import pytest

import bdis
from bdis.connections import igtl as messages
from bdis.video.live import igtl as live
from bdis.video.live.igtl import IgtlOutput
from bdis.video.live.listening import Address, listen
from bdis.video.sources import BadFrame, SourceLost, igtl, open_source
from bdis.video.stream.depth_stream import DepthStream

from .live_frames import HEIGHT, WIDTH, depth_frame, scene, wait_until

pyigtl = pytest.importorskip("pyigtl")
HERE = Address("127.0.0.1", 0)


# --- Sending ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def output():
    with IgtlOutput(HERE, scene()[1]) as output:
        yield output


@contextlib.contextmanager
def pyigtl_client(output):
    client = pyigtl.OpenIGTLinkClient("127.0.0.1", output.address.port)
    wait_until(client.is_connected)
    try:
        yield client
    finally:
        client.stop()


def test_a_client_gets_depth_in_mm_where_the_scene_has_it(output):
    pair, rig = scene()
    with pyigtl_client(output) as client:
        before = time.time()
        output.offer(depth_frame(7))
        got = {name: client.wait_for_message(name, 10) for name in (live.LEFT, live.DEPTH, live.SIGMA, live.STATUS)}
    assert np.array_equal(got[live.LEFT].image[0], pair.left)
    depth, sigma = got[live.DEPTH].image[0], got[live.SIGMA].image[0]
    assert depth.dtype == sigma.dtype == np.float32
    expected = rig.depth(depth_frame().result)
    is_known = np.isfinite(expected)
    assert np.array_equal(depth, np.where(is_known, expected, live.UNKNOWN_DEPTH))
    assert (sigma[~is_known] == live.UNKNOWN_SIGMA).all()
    assert (sigma[is_known] > 0).all()
    # From the matrix and the depth to mm, compared with the truth of the rendered scene.
    rows, columns = np.nonzero(is_known & ~pair.occluded)
    on_plane = got[live.DEPTH].ijk_to_world_matrix @ [columns, rows, 0 * rows, 0 * rows + 1]
    points = (on_plane[:3] * depth[rows, columns] / messages.PLANE_MM).T
    z = pair.depth_mm[rows, columns]
    truth = np.stack([(columns - pair.cx) * z / pair.focal_px, (rows - pair.cy) * z / pair.focal_px, z], -1)
    assert np.median(np.linalg.norm(points - truth, axis=1)) < 0.02 * np.median(z)
    assert "frame 7, 0.280 s" in got[live.STATUS].string
    assert before - 1 < got[live.DEPTH].timestamp < time.time() + 1
    assert output.sent == 1


def test_what_is_far_or_suspect_is_said(output):
    limit = float(np.nanmedian(scene()[1].depth(depth_frame().result)))
    with IgtlOutput(HERE, scene()[1], limit) as limited, pyigtl_client(limited) as client:
        limited.offer(depth_frame(is_suspect=True))
        depth = client.wait_for_message(live.DEPTH, 10).image
        assert depth.max() <= limit
        assert (depth == 0).any()
        assert "SUSPECT" in client.wait_for_message(live.STATUS, 10).string


def _read_messages(connection):
    """All whole messages, as another program would read them: their headers and bodies, until the connection ends."""
    content = bytearray()
    connection.settimeout(10)
    while part := connection.recv(2**20):
        content += part
    found = []
    while content:
        header = messages.parse_header(bytes(content[:58]))
        body = bytes(content[58 : 58 + header.body_bytes])
        assert messages.crc64(body) == header.crc
        found.append((header, body))
        del content[: 58 + header.body_bytes]
    return found


def test_the_cloud_lies_on_the_scene():
    pair, rig = scene()
    with IgtlOutput(HERE, rig) as output:
        connection = socket.create_connection(output.address)
        output.offer(depth_frame())
        wait_until(lambda: output.sent == 1)
    with connection:
        (body,) = (body for header, body in _read_messages(connection) if header.kind == "POLYDATA")
    count = struct.unpack_from(">I", body)[0]
    points = np.frombuffer(body, ">f4", 3 * count, 40).reshape(-1, 3)
    columns = np.rint(points[:, 0] / points[:, 2] * pair.focal_px + pair.cx).astype(int)
    rows = np.rint(points[:, 1] / points[:, 2] * pair.focal_px + pair.cy).astype(int)
    assert np.median(np.abs(points[:, 2] - pair.depth_mm[rows, columns])) < 0.02 * np.median(pair.depth_mm)


def test_nobody_connected_costs_nothing_and_is_counted(output):
    output.offer(depth_frame())
    wait_until(lambda: output.unheard == 1)
    assert (output.sent, output.dropped) == (0, 0)


def test_a_client_that_goes_and_comes_again_gets_frames_again(output):
    for _ in range(3):
        with pyigtl_client(output) as client:
            sent = output.sent
            wait_until(lambda: output.offer(depth_frame()) or output.sent > sent)
            assert client.wait_for_message(live.DEPTH, 10) is not None


def test_a_client_that_never_reads_holds_up_neither_the_others_nor_memory(monkeypatch, caplog):
    monkeypatch.setattr(live, "STALL_S", 0.05)
    monkeypatch.setattr(live, "GIVE_UP_S", 1.0)
    with IgtlOutput(HERE, scene()[1]) as output, socket.create_connection(output.address) as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pyigtl_client(output) as client:
            begin, got = time.monotonic(), 0
            while time.monotonic() - begin < 2.5:
                output.offer(depth_frame())
                got += client.wait_for_message(live.DEPTH, 1) is not None
                held = [len(each.rest) for each in output._clients]
                assert all(size < 10 * HEIGHT * WIDTH * 16 for size in held)
            assert got > 20
            assert len(output._clients) == 1
    assert "does not read; it is disconnected" in caplog.text


def test_offering_never_waits_although_the_only_client_does_not_read(monkeypatch):
    monkeypatch.setattr(live, "STALL_S", 0.05)
    with IgtlOutput(HERE, scene()[1]) as output, socket.create_connection(output.address):
        slowest = 0.0
        for index in range(100):
            frame, begin = depth_frame(index), time.perf_counter()
            output.offer(frame)
            slowest = max(slowest, time.perf_counter() - begin)
            time.sleep(0.002)
        assert slowest < 0.1
        wait_until(lambda: output.dropped > 0)
    assert output.sent + output.dropped + output.unheard == 100


def test_what_clients_send_is_thrown_away(output):
    with socket.create_connection(output.address) as rude:
        rude.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(100_000))
        with pyigtl_client(output) as client:
            wait_until(lambda: output.offer(depth_frame()) or client.wait_for_message(live.DEPTH, 0.1) is not None)


def test_too_many_clients_are_refused(output, monkeypatch, caplog):
    monkeypatch.setattr(live, "MAX_CLIENTS", 2)
    with contextlib.ExitStack() as stack, caplog.at_level(logging.WARNING):
        for _ in range(4):
            stack.enter_context(socket.create_connection(output.address))
        output.offer(depth_frame())
        wait_until(lambda: output.sent == 1)
        assert len(output._clients) == 2
    assert "refuses another" in caplog.text


def test_a_port_in_use_is_named_with_what_to_do(output):
    with pytest.raises(OSError, match=rf"127.0.0.1:{output.address.port}: the port is in use .* choose another port"):
        IgtlOutput(output.address, scene()[1])


# --- Receiving --------------------------------------------------------------------------------------------------------


class Server:
    """Sends given bytes to each client that connects, in turn, and closes the connection."""

    def __init__(self, *contents, pause_s=0.0, is_kept=False):
        self._listening = listen(HERE)
        self._listening.setblocking(True)
        self._listening.settimeout(10)
        self.port = self._listening.getsockname()[1]
        self._contents, self._pause_s, self._is_kept = contents, pause_s, is_kept
        self._done = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            for content in self._contents:
                with self._listening.accept()[0] as connection:
                    for part in content:
                        connection.sendall(part)
                        time.sleep(self._pause_s)
                    if self._is_kept:
                        self._done.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._done.set()
        self._listening.close()


def image_message(name, time_s, value=7, shape=(32, 48)):
    content = messages.image_content(np.full(shape, value, np.uint8), np.eye(4))
    return messages.pack("IMAGE", name, time_s, content)


def pairs(count, names=("LeftImage", "RightImage"), offset_s=0.001):
    return [
        image_message(name, 100 + index / 25 + side * offset_s, 10 * index + side)
        for index in range(count)
        for side, name in enumerate(names)
    ]


def test_pairs_of_a_pyigtl_server_become_depth():
    pair, rig = scene()
    server = pyigtl.OpenIGTLinkServer(port=0, local_server=True)
    port = server.socket.getsockname()[1]
    is_over = threading.Event()

    def send():
        while not is_over.wait(0.02):
            stamp = time.time()
            for name, image in (("Left", pair.left), ("Right", pair.right)):
                message = pyigtl.ImageMessage(image[None], device_name=name, timestamp=stamp)
                server.send_message(message, wait=False)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        source = open_source(f"igtl://127.0.0.1:{port}?left=Left&right=Right")
        with DepthStream(source, bdis.StereoMatcher("fast"), rig) as stream:
            frame = next(iter(stream))
        assert np.array_equal(frame.left, pair.left)
        assert np.array_equal(frame.right, pair.right)
        error = np.abs(rig.depth(frame.result) - pair.depth_mm)[~pair.occluded]
        assert np.nanmedian(error) < 0.02 * np.median(pair.depth_mm)
    finally:
        is_over.set()
        sender.join()
        server.stop()


def test_a_server_is_not_kept_waiting_while_kernels_are_loaded():
    with Server(pairs(1), pairs(3)[2:]) as server:  # the second connection is the one that is left for the stream
        source = open_source(f"igtl://127.0.0.1:{server.port}?left=LeftImage&right=RightImage")
        assert (source.read().left == 0).all()
        source.rewind()
        assert source._socket is None
        frame = source.read()
    assert (frame.index, frame.left[0, 0], frame.right[0, 0]) == (1, 10, 11)
    source.close()


@pytest.mark.parametrize("query", ["", "?left=LeftImage&right=RightImage"])
def test_both_views_are_found_or_named(query, monkeypatch):
    monkeypatch.setattr(igtl, "LISTEN_S", 0.05)
    with Server(pairs(20), pause_s=0.005) as server, open_source(f"igtl://127.0.0.1:{server.port}{query}") as source:
        frame = None
        while frame is None:  # after looking, it may begin with a right image
            with contextlib.suppress(BadFrame):
                frame = source.read()
    assert (frame.right == frame.left + 1).all()
    assert frame.left.shape == (32, 48)


def test_one_image_with_both_views_is_split():
    image = np.hstack([np.full((8, 12), 1, np.uint8), np.full((8, 12), 2, np.uint8)])
    message = messages.pack("IMAGE", "Stereo", 1, messages.image_content(image, np.eye(4)))
    with Server([message] * 3) as server, open_source(f"igtl://127.0.0.1:{server.port}?image=Stereo") as source:
        frame = source.read()
    assert (frame.left == 1).all()
    assert (frame.right == 2).all()


def test_devices_are_listed_when_it_is_unclear_which_to_use(monkeypatch):
    monkeypatch.setattr(igtl, "LISTEN_S", 0.2)
    monkeypatch.setattr(igtl, "READ_S", 0.5)
    content = [image_message("A", 1), image_message("B", 1), messages.pack("TRANSFORM", "Probe", 1, bytes(48))] * 20
    with (
        Server(content, pause_s=0.02) as server,
        open_source(f"igtl://127.0.0.1:{server.port}") as source,
        pytest.raises(ValueError, match=r"'A' \(IMAGE\), 'B' \(IMAGE\), 'Probe' \(TRANSFORM\): choose"),
    ):
        source.read()


def test_devices_are_listed_if_the_chosen_one_is_not_among_them(monkeypatch):
    monkeypatch.setattr(igtl, "READ_S", 0.5)
    content = [image_message("A", 1), messages.pack("TRANSFORM", "Probe", 1, bytes(48))]
    with (
        Server(content, is_kept=True) as server,
        open_source(f"igtl://127.0.0.1:{server.port}?image=C") as source,
        pytest.raises(OSError, match=r"'A' \(IMAGE\), 'Probe' \(TRANSFORM\)"),
    ):
        source.read()


def _accounts(content, names="?left=LeftImage&right=RightImage"):
    """How many pairs come, how many images are reported, and what is said last."""
    delivered, lost, said = [], 0, []
    with Server(content) as server, open_source(f"igtl://127.0.0.1:{server.port}{names}") as source:
        while True:
            try:
                delivered.append(source.read())
            except BadFrame as error:
                lost += error.count
                said.append(str(error))
            except SourceLost as error:
                return delivered, lost, [*said, str(error)]


def test_images_without_a_partner_are_counted_and_never_paired_with_another_moment():
    content = pairs(10)
    del content[7]  # the right image of the fourth pair
    delivered, lost, said = _accounts(content)
    assert [int(frame.left[0, 0]) for frame in delivered] == [0, 10, 20, *range(40, 100, 10)]
    assert all((frame.right == frame.left + 1).all() for frame in delivered)
    assert lost == 1
    assert "has ended the connection" in said[-1]


def test_views_of_two_moments_are_not_paired():
    content = pairs(2)
    content[3] = image_message("RightImage", 100.5, 99)
    delivered, lost, said = _accounts(content)
    assert (len(delivered), lost) == (1, 1)
    assert "older than its partner" in said[0]


def test_images_without_times_are_paired_as_they_come_and_that_is_said():
    content = [image_message(name, 0) for _ in range(3) for name in ("LeftImage", "RightImage")]
    delivered, _, said = _accounts(content)
    assert len(delivered) == 2
    assert "have no times" in said[0]


def test_a_damaged_image_is_skipped_and_the_next_one_is_used():
    content = pairs(4)
    content[4] = content[4][:-1] + b"\xff"
    delivered, lost, said = _accounts(content)
    assert len(delivered) == 3
    assert lost == 2  # it, and its partner
    assert "wrong check sum" in said[0]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".ljust(58), "this is not OpenIGTLink"),
        (struct.pack(">H12s20sIIQQ", 1, b"IMAGE", b"Left", 0, 0, 2**32, 0), "declares 4294967296 bytes"),
        (struct.pack(">H12s20sIIQQ", 1, b"IMAGE", b"Left", 0, 0, 10_000, 0), "has ended the connection"),
        (b"\0", "has ended the connection"),
    ],
)
def test_a_server_that_sends_something_else_is_left(last, words):
    delivered, _, said = _accounts([*pairs(2), last])
    assert len(delivered) == 2
    assert words in said[-1]


def test_a_server_that_falls_silent_within_a_message_is_left(monkeypatch):
    monkeypatch.setattr(igtl, "READ_S", 0.3)
    half = pairs(1)[0][:100]
    with (
        Server([half], is_kept=True) as server,
        open_source(f"igtl://127.0.0.1:{server.port}?image=LeftImage") as source,
    ):
        begin = time.monotonic()
        with pytest.raises(OSError, match="nothing comes for 0.3 s"):
            source.read()
        assert time.monotonic() - begin < 3


def test_a_stream_goes_on_after_the_server_was_restarted():
    with Server(pairs(5), pairs(5)) as server:
        source = open_source(f"igtl://127.0.0.1:{server.port}?left=LeftImage&right=RightImage")
        said, frames = [], []
        stream = DepthStream(source, bdis.StereoMatcher("fast"), report=said.append)
        for frame in stream:
            frames.append(frame)
            if frame.index >= 5:  # the second connection
                break
    assert any("has ended the connection; trying again" in line for line in said)
    assert stream.statistics().retries >= 1


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("igtl://127.0.0.1:1", "no OpenIGTLink server at 127.0.0.1:1: .*; is the address right"),
        ("igtl://no-such-host.invalid:18944", "no OpenIGTLink server at no-such-host.invalid:18944"),
        ("igtl://a..b:18944", "no OpenIGTLink server at a..b:18944"),
        ("igtl://", "is not the address of images"),
        ("igtl://host:port", "is not the address of images"),
        ("igtl://host:1?left=A", "is not the address of images"),
        ("igtl://host:1?left=A&right=A", "is not the address of images"),
        ("igtl://host:1?left=&right=B", "is not the address of images"),
        ("igtl://host:1/path", "is not the address of images"),
    ],
)
def test_wrong_addresses_are_one_line(place, words):
    with pytest.raises((OSError, ValueError), match=words), open_source(place) as source:
        source.read()


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="come from one server"):
        open_source("igtl://a:1", "igtl://b:1")
    with pytest.raises(ValueError, match="fps is for"):
        open_source("igtl://a:1", fps=3)
