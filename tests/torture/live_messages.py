"""Ten thousand damaged messages of OpenIGTLink, to the parser and over a socket, and rude clients of both servers.

Run with ``pytest -s tests/torture/live_messages.py``.
"""

import contextlib
import socket
import threading
import time

import numpy as np
import pytest

from bdis.video.live.foxglove import FoxgloveOutput
from bdis.video.live.igtl import IgtlOutput
from bdis.video.live.listening import Address
from bdis.video.sources import BadFrame, igtl, open_source
from bdis.video.stream.statistics import resident_mb

from ..connections.mutated import check_image, feed, mutated, whole_messages
from ..video.live_frames import depth_frame, scene
from .figures import figure

MESSAGES = 10_000
CONNECTIONS = 150  # with damaged messages in each of them
CLIENTS = 150  # that send garbage, or read a little and go
MEMORY_MB = 60  # by which the process may grow
MORE_THREADS = 8  # those of the foxglove package are counted when they first log something
HERE = Address("127.0.0.1", 0)


def test_damaged_messages_are_images_or_errors():
    rng, whole = np.random.default_rng(7), whole_messages()
    before, let_through, slowest = resident_mb(), 0, 0.0
    for number in range(MESSAGES):
        message = mutated(whole[number % len(whole)], rng)
        begin = time.perf_counter()
        image = feed(message)
        slowest = max(slowest, time.perf_counter() - begin)
        if image is not None:
            let_through += 1
            check_image(image)
    figure(
        "damaged OpenIGTLink messages",
        f"{MESSAGES}: {let_through} are images, the rest are refused; slowest {1e3 * slowest:.1f} ms",
    )
    assert slowest < 1
    assert resident_mb() - before < MEMORY_MB


def test_a_source_survives_servers_that_send_damaged_messages(monkeypatch):
    monkeypatch.setattr(igtl, "READ_S", 0.2)
    rng, whole = np.random.default_rng(8), whole_messages()
    before, frames, bad, lost = resident_mb(), 0, 0, 0
    with socket.create_server(HERE) as listening:
        for _ in range(CONNECTIONS):
            content = [mutated(whole[int(rng.integers(5))], rng) if rng.random() < 0.2 else whole[1] for _ in range(20)]

            def serve(content=content):
                with listening.accept()[0] as connection, contextlib.suppress(OSError):
                    for message in content:
                        connection.sendall(message)

            server = threading.Thread(target=serve)
            server.start()
            with open_source(
                f"igtl://127.0.0.1:{listening.getsockname()[1]}?image=Left", layout="side-by-side"
            ) as source:
                while True:
                    try:
                        frames += source.read() is not None
                    except BadFrame:
                        bad += 1
                    except ValueError:  # a picture that cannot be halved
                        bad += 1
                    except OSError:
                        lost += 1
                        break
            server.join(10)
            assert not server.is_alive()
    figure("damaged OpenIGTLink servers", f"{CONNECTIONS} connections: {frames} frames, {bad} refused, {lost} left")
    assert lost == CONNECTIONS
    assert frames > CONNECTIONS
    assert resident_mb() - before < MEMORY_MB


@pytest.mark.parametrize("kind", [IgtlOutput, FoxgloveOutput])
def test_a_server_survives_clients_that_send_garbage_and_go(kind):
    rng = np.random.default_rng(9)
    with kind(HERE, scene()[1]) as output:
        output.offer(depth_frame())
        before, slowest, threads = resident_mb(), 0.0, threading.active_count()
        for number in range(CLIENTS):
            with contextlib.suppress(OSError), socket.create_connection(output.address, 5) as client:
                if number % 3:
                    client.sendall(rng.bytes(int(rng.integers(1, 20_000))))
                frame, begin = depth_frame(number), time.perf_counter()
                output.offer(frame)
                slowest = max(slowest, time.perf_counter() - begin)
                if number % 2:
                    client.settimeout(0.02)
                    client.recv(int(rng.integers(1, 5000)))
        grown = resident_mb() - before
        assert threading.active_count() <= threads + MORE_THREADS
    figure(
        f"rude clients of {kind.__name__}",
        f"{CLIENTS}: offering a frame took {1e3 * slowest:.2f} ms at most, {grown:.0f} MB more memory",
    )
    assert slowest < 0.2
    assert grown < MEMORY_MB
