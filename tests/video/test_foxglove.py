"""Foxglove end to end: what arrives at a websocket, and MCAP files as the package mcap reads them."""

import contextlib
import json
import os
import resource
import signal
import socket
import sys
import time

import numpy as np
import pytest

from bdis.connections import foxglove as messages
from bdis.video.live import foxglove as live
from bdis.video.live.foxglove import FoxgloveOutput
from bdis.video.live.listening import Address
from bdis.video.recording import Recording, RecordingPlan
from bdis.video.recording.foxglove_file import FOXGLOVE_FILE, FoxgloveFile, count_foxglove_frames
from tests.cli.commands import needs_posix
from tests.cli.recordings import ENDLESS, FAST, indices, start, wait_for_frames
from tests.connections.foxglove_readers import read_calibration, read_image, read_points

from .live_frames import HEIGHT, WIDTH, depth_frame, scene, wait_until

pytest.importorskip("foxglove")
mcap_reader = pytest.importorskip("mcap.reader")
websockets_client = pytest.importorskip("websockets.sync.client")
HERE = Address("127.0.0.1", 0)


@pytest.fixture
def output():
    with FoxgloveOutput(HERE, scene()[1]) as output:
        yield output


@contextlib.contextmanager
def client(output, topics=tuple(messages.TOPICS)):
    """A websocket that has subscribed, as Foxglove does, and the topics of its subscriptions."""
    with websockets_client.connect(
        f"ws://{output.address}", subprotocols=["foxglove.sdk.v1"], max_size=None, close_timeout=0.3
    ) as connection:
        assert json.loads(connection.recv(10))["op"] == "serverInfo"
        channels = json.loads(connection.recv(10))["channels"]
        chosen = {channel["id"]: channel for channel in channels if channel["topic"] in topics}
        subscriptions = [{"id": number, "channelId": number} for number in chosen]
        connection.send(json.dumps({"op": "subscribe", "subscriptions": subscriptions}))
        wait_until(lambda: all(output._channels[topic].has_sinks() for topic in topics))
        yield connection, chosen


def test_the_server_answers_any_web_page_so_that_the_warning_is_needed(output):
    """When this fails, foxglove-sdk looks at the origin: then the warning can go."""
    with websockets_client.connect(
        f"ws://{output.address}", subprotocols=["foxglove.sdk.v1"], origin="https://evil.example", close_timeout=0.3
    ) as page:
        assert json.loads(page.recv(10))["op"] == "serverInfo"
    assert "any web page" in output.risk


def received(connection, chosen, count):
    """So many messages: their bytes by topic."""
    found = {}
    while len(found) < count:
        content = connection.recv(30)
        assert content[0] == 1  # message data
        found[chosen[int.from_bytes(content[1:5], "little")]["topic"]] = content[13:]
    return found


def check_messages(found, time_range_ns):
    """The messages of a frame are those of the scene, in metres."""
    pair, rig = scene()
    stamp, frame_id, encoding, depth_m = read_image(found[messages.DEPTH])
    assert time_range_ns[0] <= stamp <= time_range_ns[1]
    assert (frame_id, encoding) == ("bdis_left", "32FC1")
    depth_mm = rig.depth(depth_frame().result)
    assert np.array_equal(np.isnan(depth_m), np.isnan(depth_mm))
    assert 1e3 * depth_m == pytest.approx(depth_mm, rel=1e-5, nan_ok=True)
    assert np.nanmedian(np.abs(1e3 * depth_m - pair.depth_mm)) < 0.02 * np.median(pair.depth_mm)
    _, _, _, sigma_m = read_image(found[messages.SIGMA])
    assert np.array_equal(np.isnan(sigma_m), np.isnan(depth_m))
    _, _, encoding, left = read_image(found[messages.LEFT])
    assert encoding == "rgb8"
    assert np.array_equal(left, pair.left)
    points = read_points(found[messages.POINTS])
    columns = np.rint(points["x"] / points["z"] * pair.focal_px + pair.cx).astype(int)
    rows = np.rint(points["y"] / points["z"] * pair.focal_px + pair.cy).astype(int)
    assert 1e3 * points["z"] == pytest.approx(depth_mm[rows, columns], rel=1e-4)
    assert np.array_equal(np.stack([points[name] for name in ("red", "green", "blue")], -1), pair.left[rows, columns])
    assert points["sigma"] == pytest.approx(sigma_m[rows, columns], rel=1e-4)
    width, height, k, p = read_calibration(found[messages.CALIBRATION])
    assert (width, height) == (WIDTH, HEIGHT)
    f = pair.focal_px
    assert k == pytest.approx([f, 0, pair.cx, 0, f, pair.cy, 0, 0, 1])
    assert p == pytest.approx([f, 0, pair.cx, 0, 0, f, pair.cy, 0, 0, 0, 1, 0])


# --- Live -------------------------------------------------------------------------------------------------------------


def test_a_client_gets_all_topics_in_the_schemas_of_foxglove(output):
    with client(output) as (connection, chosen):
        schemas = {channel["topic"]: channel["schemaName"] for channel in chosen.values()}
        assert schemas == {topic: f"foxglove.{schema}" for topic, schema in messages.TOPICS.items()}
        before = time.time_ns()
        output.offer(depth_frame())
        always = len(messages.TOPICS) - 1  # warnings only if there are any
        check_messages(received(connection, chosen, always), (before - 10**9, time.time_ns() + 10**9))
        output.offer(depth_frame(is_suspect=True))
        assert b"SUSPECT" in received(connection, chosen, always + 1)[messages.WARNINGS]
    assert output.sent == 2


def test_only_what_is_subscribed_to_is_sent_and_a_client_may_come_again(output):
    output.offer(depth_frame())
    wait_until(lambda: output.unheard == 1)
    for _ in range(2):
        with client(output, (messages.DEPTH,)) as (connection, chosen):
            output.offer(depth_frame())
            assert set(received(connection, chosen, 1)) == {messages.DEPTH}
        wait_until(lambda: not output._channels[messages.DEPTH].has_sinks())


@needs_posix
def test_a_client_that_never_reads_costs_neither_time_nor_memory(output):
    # In this order: a topic of two clients has a sink as soon as the first of them has subscribed.
    with client(output, (messages.DEPTH,)) as (connection, chosen), client(output) as (silent, _):
        silent.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slowest, before = 0.0, None
        for index in range(300):
            frame, begin = depth_frame(index), time.perf_counter()
            output.offer(frame)
            slowest = max(slowest, time.perf_counter() - begin)
            received(connection, chosen, 1)
            if index == 100:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (
            1024 if sys.platform != "darwin" else 2**20
        )
    assert slowest < 0.1
    assert grown_mb < 30  # 200 frames have 70 MB


def test_garbage_from_a_client_ends_only_that_client(output):
    with client(output, (messages.DEPTH,)) as (connection, chosen):
        for garbage in (b"\xff" * 1000, b"GET / HTTP/1.1\r\n\r\n"):
            with socket.create_connection(output.address) as rude:
                rude.sendall(garbage)
        with client(output, ()) as (other, _), contextlib.suppress(Exception):
            for text in ("{", '{"op": "subscribe", "subscriptions": 7}', "\0"):
                other.send(text)
            other.send(b"\xff" * 100)
        output.offer(depth_frame())
        assert received(connection, chosen, 1)


def test_a_port_in_use_is_named_with_what_to_do(output):
    with pytest.raises(OSError, match=rf"127.0.0.1:{output.address.port}: the port is in use .* choose another port"):
        FoxgloveOutput(output.address, scene()[1])
    assert live.BACKLOG_FRAMES * len(messages.TOPICS) < 30


# --- Files ------------------------------------------------------------------------------------------------------------


def frames_of(path):
    """The messages of each frame, read through the index of the file, and the times of the frames in ns."""
    frames = {}
    with open(path, "rb") as file:
        reader = mcap_reader.make_reader(file, validate_crcs=True)
        for schema, channel, message in reader.iter_messages():
            assert schema.name == f"foxglove.{messages.TOPICS[channel.topic]}"
            frames.setdefault(message.log_time, {})[channel.topic] = message.data
    return frames


def test_a_file_has_the_messages_of_every_frame(tmp_path):
    file = FoxgloveFile(tmp_path / FOXGLOVE_FILE, scene()[1])
    for index in range(3):
        file.write(depth_frame(index), None)
    file.close()
    frames = frames_of(tmp_path / FOXGLOVE_FILE)
    assert list(frames) == [0, 40_000_000, 80_000_000]
    for time_ns, found in frames.items():
        check_messages(found, (time_ns, time_ns))


def test_a_file_is_readable_up_to_its_last_frame_and_continued_with_the_same_bits(tmp_path):
    path = tmp_path / FOXGLOVE_FILE
    file = FoxgloveFile(path, scene()[1])
    for index in range(6):
        file.write(depth_frame(index), None)
        assert count_foxglove_frames(path) == index + 1  # nobody has closed it
    file.close()
    whole = path.read_bytes()
    for end in (0, 5, 3000, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:end])
        kept = count_foxglove_frames(path)
        assert end > len(whole) / 2 or kept < 4
        again = FoxgloveFile(path, scene()[1], keep=kept)
        for index in range(kept, 6):
            again.write(depth_frame(index), None)
        again.close()
        assert path.read_bytes() == whole
        assert [file.name for file in tmp_path.iterdir()] == [FOXGLOVE_FILE]


def test_an_interrupted_copy_loses_nothing(tmp_path):
    path = tmp_path / FOXGLOVE_FILE
    file = FoxgloveFile(path, scene()[1])
    for index in range(3):
        file.write(depth_frame(index), None)
    file.close()
    os.replace(path, tmp_path / "foxglove.earlier.mcap")  # as if the process had been killed while copying
    path.write_bytes(b"a part")
    assert count_foxglove_frames(path) == 3
    FoxgloveFile(path, scene()[1], keep=2).close()
    assert len(frames_of(path)) == 2


@needs_posix
def test_a_full_disk_is_an_error_and_the_frames_before_it_are_readable(tmp_path):
    path = tmp_path / FOXGLOVE_FILE
    file = FoxgloveFile(path, scene()[1])
    file.write(depth_frame(0), None)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, limits[1]))
    try:
        with pytest.raises(OSError, match=FOXGLOVE_FILE):
            file.write(depth_frame(1), None)
        file.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert count_foxglove_frames(path) == 1


@needs_posix
def test_a_killed_run_is_readable_and_resumed(tmp_path):
    out = tmp_path / "out"
    process = start("run", ENDLESS, *FAST, "--save", "foxglove", "-o", out)
    wait_for_frames(out, 5)
    process.kill()
    process.communicate(timeout=60)
    frames = count_foxglove_frames(out / FOXGLOVE_FILE)
    assert frames >= len(indices(out)) >= 5
    process = start("run", ENDLESS, *FAST, "--save", "foxglove", "-o", out, "--resume")
    wait_for_frames(out, frames + 3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    done = indices(out)
    assert done == list(range(len(done)))
    assert len(frames_of(out / FOXGLOVE_FILE)) == len(done)


def test_a_recording_with_it_says_so(tmp_path):
    plan = RecordingPlan(("foxglove",), (HEIGHT, WIDTH), scene()[1])
    recording = Recording(tmp_path, plan, {})
    for index in range(2):
        recording.add(depth_frame(index))
    recording.close("complete")
    assert FOXGLOVE_FILE in recording.outputs()
    assert recording.frames == len(frames_of(tmp_path / FOXGLOVE_FILE)) == 2
