"""Batches beside ``bdis run``: speed-up with one and two workers, overhead per piece, many short recordings.

    python -m benchmarks.cluster --minutes 30 --recordings 10000
    python -m benchmarks.cluster --minutes 30 --recordings 0 --runs one,2

On a quiet machine with two cores or more; on another, compare the times of the processor. With the default sizes it
takes a few minutes.
"""

import argparse
import filecmp
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bdis import open_source
from bdis.video.recording import read_manifest

COMMAND = [sys.executable, "-c", "from bdis.cli import main; main()"]
RIG = ["--focal", "500", "--baseline", "5"]
DISTINCT = 30  # frames that are rendered; the video runs forwards and backwards through them
PIECE_FRAMES = 1500
SHORT_FRAMES = 2
FPS = 25
LOOK_EVERY_S = 1.0


@dataclass(frozen=True)
class Took:
    """Times of a command: on the clock, and of the processor with all processes that it started."""

    wall_s: float
    cpu_s: float
    lines: list[str]

    def __str__(self) -> str:
        return f"{self.wall_s:.1f} s ({self.cpu_s:.1f} s of processor)"


def write_source(path: Path, minutes: float, size: tuple[int, int] = (640, 480)) -> int:
    """A video with both views side by side, as a camera would encode it; the number of its frames is returned.

    Of a longer one the first minute is encoded, and repeated.
    """
    import av
    import numpy as np

    width, height = size
    scene = f"render:tissue,frames={DISTINCT},distinct={DISTINCT},height={height},width={width}"
    pictures = [np.hstack([frame.left, frame.right]) for frame in open_source(scene)]
    frames, repeats = round(60 * FPS * min(1.0, minutes)), max(1, round(minutes))
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "20", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = 2 * width, height, "yuv420p"
        packets = []
        for index in range(frames):
            number = index % (2 * DISTINCT - 2)
            picture = pictures[min(number, 2 * DISTINCT - 2 - number)]
            packets += stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24"))
        packets += stream.encode(None)
        times = [(packet.pts, packet.dts, packet.time_base) for packet in packets]
        for repeat in range(repeats):
            for packet, (shown, decoded, base) in zip(packets, times):
                later = round(repeat * frames / FPS / base)
                packet.pts, packet.dts, packet.time_base = shown + later, decoded + later, base
                container.mux(packet)
    return frames * repeats


def timed(*arguments: object, cores: set[int] | None = None) -> Took:
    """Run a command."""
    begin, before = time.perf_counter(), _children_s()
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, text=True, check=True,
        preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores),
    )  # fmt: skip
    return Took(time.perf_counter() - begin, _children_s() - before, done.stdout.splitlines())


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def speed_up(folder: Path, minutes: float, preset: str, runs: list[str]) -> None:
    """``bdis run``, free and on one core, beside a batch with one and two workers; ``runs`` says which of them."""
    source = folder / "source.mp4"
    frames = write_source(source, minutes)
    options = [*RIG, "--preset", preset]
    print(f"{frames} frames of 640x480, {preset}; source {source.stat().st_size / frames / 1e3:.0f} kB per frame")
    alone: dict[str, Took] = {}
    for name, cores in (("free", None), ("one", {0})):
        if name in runs:
            alone[name] = timed("run", source, *options, "-o", folder / name, cores=cores)
            figures = read_manifest(folder / name)["parts"][0]["figures"]
            print(f"  bdis run, {name}: {alone[name]}; memory {figures['memory_mb']:.0f} MB")
            written = {path.name: path.stat().st_size / frames / 1e3 for path in (folder / name).glob("*.m*")}
            print("   ", ", ".join(f"{file} {kb:.0f} kB per frame" for file, kb in written.items()), flush=True)
    for workers in (int(name) for name in runs if name.isdecimal()):
        out = folder / f"batch{workers}"
        batch = ["batch", "run", source, *options, "-o", out, "--workers", workers, "--json"]
        took = timed(*batch, "--piece-frames", PIECE_FRAMES, cores=set(range(workers)))
        events = [json.loads(line) for line in took.lines]
        pieces = [event for event in events if event["event"] == "piece"]
        parts = [part["figures"] for part in read_manifest(out / "source")["parts"]]
        overhead_s = sum(event["seconds"] for event in pieces) - sum(part["seconds"] for part in parts)
        told = [event for event in events if "at" in event]
        recorded, done = (datetime.fromisoformat(max(event["at"] for event in some)) for some in (pieces or told, told))
        joined_s = (done - recorded).total_seconds()
        memory = max((part["memory_mb"] for part in parts), default=0)
        ratios = ", ".join(f"{run.wall_s / took.wall_s:.2f}x bdis run, {name}" for name, run in alone.items())
        print(
            f"  {workers} workers on {workers} cores: {took}; {ratios}; {len(pieces)} pieces, "
            f"{overhead_s / max(1, len(pieces)):.2f} s each beyond their frames, joined in {joined_s:.1f} s; "
            f"memory of a worker {memory:.0f} MB", flush=True,
        )  # fmt: skip
        for name in alone:
            files = [file for file in ("depth.mkv", "preview.mp4") if (folder / name / file).exists()]
            same = [filecmp.cmp(out / "source" / file, folder / name / file, shallow=False) for file in files]
            print(f"    same files as bdis run, {name}: {all(same)}")


def many(folder: Path, recordings: int) -> None:
    """Many short recordings: time for each, and the memory of the command, which has the scheduler in it."""
    sources = folder / "short"
    sources.mkdir()
    write_source(sources / "0.mp4", SHORT_FRAMES / FPS / 60, (96, 64))
    for number in range(1, recordings):
        os.link(sources / "0.mp4", sources / f"{number}.mp4")  # a rendered scene would measure the renderer
    out, seen = folder / "many", []
    begin, before = time.perf_counter(), _children_s()
    process = subprocess.Popen(
        [*COMMAND, "batch", "run", sources, *RIG, "--preset", "fast", "--save", "depth", "-o", out],
        stderr=subprocess.DEVNULL,
    )

    def look() -> None:
        while process.poll() is None:
            seen.append((time.perf_counter() - begin, _memory_mb(process.pid), _cpu_s(process.pid)))
            time.sleep(LOOK_EVERY_S)

    looking = threading.Thread(target=look)
    looking.start()
    assert process.wait() == 0
    looking.join()
    took_s, cpu_s = time.perf_counter() - begin, _children_s() - before
    busy_s = max(used_s for _, _, used_s in seen)
    print(
        f"{recordings} recordings of {SHORT_FRAMES} frames: {took_s:.0f} s, {1e3 * took_s / recordings:.0f} ms each; "
        f"{cpu_s:.0f} s of processor, {busy_s:.0f} s of it the command with the scheduler"
    )
    print("  memory of the command:", ", ".join(
        f"{memory:.0f} MB after {at_s:.0f} s"
        for at_s, memory, _ in (seen[round(part / 8 * (len(seen) - 1))] for part in range(1, 9))
    ))  # fmt: skip


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
    parser.add_argument("--runs", default="free,one,1,2", help="bdis run free or on one core; numbers of workers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.minutes:
            speed_up(Path(folder), given.minutes, given.preset, given.runs.split(","))
        if given.recordings:
            many(Path(folder), given.recordings)


if __name__ == "__main__":
    main()
