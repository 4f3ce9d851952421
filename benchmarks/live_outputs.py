"""What sending to OpenIGTLink and Foxglove costs, at 640x480.

Matching alone, with each output and nobody connected, with a client that reads, and with one that never reads, taking
turns in one process; the clients are processes of their own.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import bdis
from bdis.connections import foxglove, igtl
from bdis.synthetic import render
from bdis.video.live import LiveOutput
from bdis.video.live.foxglove import FoxgloveOutput
from bdis.video.live.igtl import STATUS, IgtlOutput
from bdis.video.live.listening import Address
from bdis.video.stream.depth_stream import DepthFrame

HEIGHT, WIDTH, RATE = 480, 640, 25.0
FRAMES, DISTINCT = 40, 4  # of each measurement, and how many of them are different
KINDS: dict[str, Callable[..., LiveOutput] | None] = {
    "nothing sent": None, "OpenIGTLink": IgtlOutput, "Foxglove": FoxgloveOutput,
}  # fmt: skip
CLIENTS = ("nobody connected", "a client that reads", "a client that never reads")


def live(rounds: int) -> dict:
    """Of each output and client, medians over the rounds.

    ``fps`` if frames are matched one after the other; at 25 frames/s ``match_ms`` is the time to match one, and of a
    client that reads ``received`` is the share of frames that it got and ``latency_ms`` the time from when a frame was
    matched until its last byte was there.
    """
    pairs = [render("tissue", HEIGHT, WIDTH, frame=index, baseline_mm=5.0) for index in range(DISTINCT)]
    rig = bdis.Rig(pairs[0].focal_px, pairs[0].cx, pairs[0].cy, pairs[0].baseline_mm)
    matcher = bdis.StereoMatcher("balanced", variance=True)
    cases = [(kind, client) for kind in KINDS for client in (CLIENTS if KINDS[kind] else CLIENTS[:1])]
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {case: [] for case in cases}
    _run(matcher, pairs, None, 10, None)  # loads the kernels
    for _ in range(rounds):
        for kind, client in cases:
            with _case(kind, client, rig) as (output, received):
                fastest, _ = _run(matcher, pairs, output, FRAMES, None)
            with _case(kind, client, rig) as (output, received):
                _, match_ms = _run(matcher, pairs, output, FRAMES, RATE)
                time.sleep(0.3)
            got, latency_ms = received()
            found[kind, client].append((fastest, match_ms, got / FRAMES, latency_ms))
    names = ("fps", "match_ms", "received", "latency_ms")
    return {
        f"{kind}, {client}": dict(zip(names, (statistics.median(column) for column in zip(*turns))))
        for (kind, client), turns in found.items()
    }


def _run(
    matcher: bdis.StereoMatcher, pairs: list[Any], output: LiveOutput | None, frames: int, rate: float | None
) -> tuple[float, float]:
    """Frames/s, and the median time to match one in ms."""
    previous, took = None, []
    begin = time.perf_counter()
    for index in range(frames):
        if rate is not None:
            time.sleep(max(0.0, begin + index / rate - time.perf_counter()))
        pair, start = pairs[index % len(pairs)], time.perf_counter()
        previous = matcher.match(pair.left, pair.right, previous=previous)
        done = time.perf_counter()
        took.append(done - start)
        if output is not None:
            output.offer(DepthFrame(index, index / RATE, pair.left, pair.right, previous, False, 0, 0, 0, done))
    return frames / (time.perf_counter() - begin), 1e3 * statistics.median(took)


@contextlib.contextmanager
def _case(kind: str, client: str, rig: bdis.Rig) -> Iterator[tuple[LiveOutput | None, Callable[[], tuple[int, float]]]]:
    """An output with its client, and what the client got: how many frames, and their median latency in ms."""
    create = KINDS[kind]
    if create is None:
        yield None, lambda: (0, 0.0)
        return
    with create(Address("127.0.0.1", 0), rig) as output:
        if client == CLIENTS[0]:
            yield output, lambda: (0, 0.0)
            return
        mine, theirs = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_foxglove_client if kind == "Foxglove" else _igtl_client,
            args=(output.address.port, client == CLIENTS[1], theirs),  # type: ignore[attr-defined]
        )
        process.start()
        mine.recv()  # it is connected
        yield output, lambda: mine.recv() if client == CLIENTS[1] else (0, 0.0)
    if client != CLIENTS[1]:
        process.terminate()
    process.join(10)


def _report(pipe: Any, latencies: list[float]) -> None:
    pipe.send((len(latencies), 1e3 * statistics.median(latencies) if latencies else 0.0))


def _igtl_client(port: int, reads: bool, pipe: Any) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rb") as file:
        pipe.send("connected")
        if not reads:
            time.sleep(3600)
        latencies = []
        while content := file.read(igtl.HEADER_BYTES):
            header = igtl.parse_header(content)
            file.read(header.body_bytes)
            if header.device == STATUS:  # the last of a frame
                latencies.append(time.time() - header.time_s)
        _report(pipe, latencies)


def _foxglove_client(port: int, reads: bool, pipe: Any) -> None:
    import json

    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    connection = connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"], max_size=None)  # type: ignore[list-item]
    connection.recv()
    channels = {channel["id"]: channel["topic"] for channel in json.loads(connection.recv())["channels"]}
    subscriptions = [{"id": number, "channelId": number} for number in channels]
    connection.send(json.dumps({"op": "subscribe", "subscriptions": subscriptions}))
    time.sleep(0.3)
    pipe.send("connected")
    if not reads:
        time.sleep(3600)
    latencies = []
    with contextlib.suppress(ConnectionClosed):
        while True:
            content = connection.recv()
            if isinstance(content, bytes) and channels[int.from_bytes(content[1:5], "little")] == foxglove.DEPTH:
                latencies.append(time.time() - int.from_bytes(content[5:13], "little") / 1e9)
    _report(pipe, latencies)
