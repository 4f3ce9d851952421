"""Batches beside ``bdis run``: speed-up with one and two workers, overhead per piece, many short recordings.

    python -m benchmarks.cluster --minutes 30 --recordings 10000

On a quiet machine with two cores or more. With the default sizes it takes a few minutes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bdis import open_source
from bdis.video.recording import read_manifest

COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]
RIG = ["--focal", "500", "--baseline", "5"]
DISTINCT = 30  # frames that are rendered; the video runs forwards and backwards through them
PIECE_FRAMES = 1500
FPS = 25
LOOK_EVERY_S = 1.0


def write_source(path: Path, frames: int, size: tuple[int, int] = (640, 480)) -> None:
    """A video with both views side by side, as a camera would encode it."""
    import av
    import numpy as np

    width, height = size
    scene = f"render:tissue,frames={DISTINCT},distinct={DISTINCT},height={height},width={width}"
    pictures = [np.hstack([frame.left, frame.right]) for frame in open_source(scene)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "20", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = 2 * width, height, "yuv420p"
        for index in range(frames):
            number = index % (2 * DISTINCT - 2)
            picture = pictures[min(number, 2 * DISTINCT - 2 - number)]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def seconds_of(*arguments: object, cores: set[int] | None = None) -> tuple[float, list[str]]:
    """Time of a command, and its lines on standard output."""
    begin = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True,
        preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    return time.perf_counter() - begin, done.stdout.splitlines()


def speed_up(folder: Path, minutes: float, preset: str) -> None:
    """``bdis run``, free and on one core, beside a batch with one and two workers."""
    source, frames = folder / "source.mp4", round(60 * FPS * minutes)
    write_source(source, frames)
    options = [*RIG, "--preset", preset]
    free_s, _ = seconds_of("run", source, *options, "-o", folder / "free")
    one_s, _ = seconds_of("run", source, *options, "-o", folder / "one", cores={0})
    print(f"{frames} frames of 640x480, {preset}: bdis run {free_s:.1f} s, on one core {one_s:.1f} s")
    written = {path.name: path.stat().st_size / frames / 1e3 for path in (folder / "free").glob("*.m*")}
    print(f"  source {source.stat().st_size / frames / 1e3:.0f} kB per frame; written:",
          ", ".join(f"{name} {kilobytes:.0f} kB per frame" for name, kilobytes in written.items()))  # fmt: skip
    memory = read_manifest(folder / "free")["parts"][0]["figures"]["memory_mb"]
    print(f"  memory of bdis run {memory:.0f} MB")
    for workers in (1, 2):
        out = folder / f"batch{workers}"
        batch = ["batch", "run", source, *options, "-o", out, "--workers", workers, "--json"]
        took_s, lines = seconds_of(*batch, "--piece-frames", PIECE_FRAMES, cores=set(range(workers)))
        events = [json.loads(line) for line in lines]
        pieces = [event for event in events if event["event"] == "piece"]
        parts = [part["figures"] for part in read_manifest(out / "source")["parts"]]
        overhead_s = sum(event["seconds"] for event in pieces) - sum(part["seconds"] for part in parts)
        rest = next(event["seconds"] for event in events if event["event"] == "done")
        print(
            f"  {workers} workers on {workers} cores: {took_s:.1f} s, {free_s / took_s:.2f}x bdis run, "
            f"{one_s / took_s:.2f}x bdis run on one core; {len(pieces)} pieces, "
            f"{overhead_s / max(1, len(pieces)):.2f} s each beyond their frames, "
            f"joined in {rest:.1f} s; memory of a worker {max((part['memory_mb'] for part in parts), default=0):.0f} MB"
        )


def many(folder: Path, recordings: int) -> None:
    """Many short recordings: time for each, and the memory of the command, which has the scheduler in it."""
    listed = folder / "many.txt"
    listed.write_text("".join(f"render:plane,frames=2,height=32,width=48,seed={seed}\n" for seed in range(recordings)))
    out, memory = folder / "many", []
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*COMMAND, "batch", "run", listed, "--preset", "fast", "--save", "depth", "-o", out], stderr=subprocess.DEVNULL
    )

    def look() -> None:
        while process.poll() is None:
            memory.append((_memory_mb(process.pid), _cpu_s(process.pid)))
            time.sleep(LOOK_EVERY_S)

    looking = threading.Thread(target=look)
    looking.start()
    assert process.wait() == 0
    looking.join()
    took_s = time.perf_counter() - begin
    early, late = (memory[int(share * len(memory))][0] for share in (0.2, 0.95))
    busy_s = max(cpu_s for _, cpu_s in memory)
    print(
        f"{recordings} recordings of 2 frames: {took_s:.0f} s, {1e3 * took_s / recordings:.0f} ms each; memory of the "
        f"command {early:.0f} MB after a fifth, {late:.0f} MB at the end; {busy_s:.0f} s of CPU with the scheduler"
    )


def _memory_mb(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu_s(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="of video; 0: none")
    parser.add_argument("--recordings", type=int, default=200, help="short ones; 0: none")
    parser.add_argument("--preset", default="balanced")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.minutes:
            speed_up(Path(folder), given.minutes, given.preset)
        if given.recordings:
            many(Path(folder), given.recordings)


if __name__ == "__main__":
    main()
