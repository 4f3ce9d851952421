"""Readers of recordings, batches and earlier results, which a command continues or replaces."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import bdis
from bdis.cli.output_folder import SUMMARY, files_of_earlier
from bdis.cluster.jobs import WORK_FOLDER, find_sources, name_of
from bdis.cluster.journal import JOURNAL, PLAN, Journal, read_status
from bdis.evaluation.run_log import RunLog
from bdis.matching.result import StereoResult
from bdis.video.recording import OUTPUTS, Recording, RecordingPlan
from bdis.video.recording.checkpoint import CHECKPOINT, read_checkpoints
from bdis.video.recording.depth_video import read_depth_video
from bdis.video.recording.frame_log import FRAME_LOG, read_frame_log
from bdis.video.recording.manifest import MANIFEST, Manifest, read_manifest
from bdis.video.recording.picture_warnings import PictureWarnings
from bdis.video.recording.recorded import RecordedDepth
from bdis.video.stream.depth_stream import DepthFrame
from tests.fuzz.contents import NEXT_FILE, NPY_WORDS, Reader, any_of, check_map, written

MANIFEST_WORDS = (
    '"format"',
    '"bdis-recording"',
    '"run"',
    '"calibration"',
    '"parts"',
    '"state"',
    '"frames"',
    "[{",
    "NaN",
)


def _manifest(folder: Path, content: bytes) -> None:
    written(folder, MANIFEST, content)
    earlier = read_manifest(folder)
    now = Manifest(folder, {"source": "a.mp4", "settings": {"threads": 1}}, None)
    try:
        now.continue_from(earlier)
    finally:
        again = Manifest(folder, earlier["run"], earlier["calibration"])
        again.continue_from(earlier)
        again.begin_part(0)


def _frame_log(folder: Path, content: bytes) -> None:
    for record in read_frame_log(written(folder, FRAME_LOG, content)):
        assert record.index >= 0
        assert np.isfinite(record.time_s)


def _checkpoint(folder: Path, content: bytes) -> None:
    written(folder, CHECKPOINT, content)
    for found in read_checkpoints(folder)[0]:
        assert found.index >= 0
        assert found.result.disparity.dtype == np.float32
        assert found.result.disparity.ndim == 2


@cache
def _recording_files() -> dict[str, bytes]:
    """A recording of two frames, by the names of its files."""
    image, values = np.full((48, 64), 90, np.uint8), np.full((48, 64), 5, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        recording = _open_recording(Path(folder), resume=False)
        for index in range(2):
            result = StereoResult(values, values / 5)
            recording.add(DepthFrame(index, index / 25, image, image, result, False, 0.0, 0.0, 0.0, 0.0))
        recording.close("complete")
        files = (path for path in Path(folder).rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _open_recording(folder: Path, *, resume: bool) -> Recording:
    rig = bdis.Rig(focal_px=50, cx=31, cy=23, baseline_mm=5)
    return Recording(folder, RecordingPlan(("depth", "preview"), (48, 64), rig, 25), {"source": "a"}, resume=resume)


def _recording(folder: Path, content: bytes) -> None:
    """A recording whose manifest is invented, read and continued."""
    for name, file in _recording_files().items():
        written(folder, name, content if name == MANIFEST else file)
    any_of([
        lambda: list(RecordedDepth(folder).frames()),
        lambda: PictureWarnings(lambda text: None, read_manifest(folder)).close(),
        lambda: _open_recording(folder, resume=True).close("complete"),
    ])  # fmt: skip


def _earlier_outputs(folder: Path, content: bytes) -> None:
    """What an interrupted run has left of a video or a bag: however it ended, its frames are counted."""
    for output in OUTPUTS.values():
        if output.is_video:
            assert 0 <= output.count_frames(written(folder, output.path, content)) <= len(content)


def _batch_list(folder: Path, content: bytes) -> None:
    written(folder, "left.mp4", b"")
    for left, _ in find_sources([str(written(folder, "list.txt", content))]):
        assert name_of(left) == Path(name_of(left)).name


def _batch_journal(folder: Path, content: bytes) -> None:
    """What was asked for, and what has happened."""
    plan, _, events = content.partition(NEXT_FILE)
    written(folder / WORK_FOLDER, PLAN, plan)
    written(folder / WORK_FOLDER, JOURNAL, events)
    for state in read_status(folder)["recordings"].values():
        assert 0 <= state.share <= 1
    with Journal(folder, {"preset": "fast"}, ["a", "b"]) as journal:
        journal.add("a", "done", frames=3)


def _earlier_summary(folder: Path, content: bytes) -> None:
    written(folder, SUMMARY, content)
    assert set(files_of_earlier(folder)) <= {SUMMARY}


def _run_log(folder: Path, content: bytes) -> None:
    log = RunLog(written(folder, "journal.jsonl", content))
    log.get("frame 1")
    log.keep_only("frame")
    log.add("frame 2", 1)


def _depth_video(folder: Path, content: bytes) -> None:
    for _, time_s, depth_mm in read_depth_video(written(folder, "depth.mkv", content)):
        assert np.isfinite(time_s)
        check_map(depth_mm)


RECORDINGS: dict[str, Reader] = {
    "manifest": Reader(_manifest, words=MANIFEST_WORDS),
    "frame_log": Reader(_frame_log, words=("index,time_s,", "nan", "1e999", "-1", "suspect")),
    "checkpoint": Reader(_checkpoint, (), (*NPY_WORDS, "index.npy", "settings.npy", "PK\\x03\\x04", "PK\\x01\\x02")),
    "recording": Reader(_recording, words=(*MANIFEST_WORDS, '"preview"', '"near"', '"far"', '"complete"', "1e999")),
    "earlier_outputs": Reader(_earlier_outputs, (), ("\\x89MCAP0\\x0d\\x0a", "#ROSBAG V2.0\\x0a", "conn=", "op=")),
    "batch_list": Reader(_batch_list, words=("left.mp4", "\\x09", "# ", "list.txt", "*.mp4", "render:plane", "**")),
    "batch_journal": Reader(_batch_journal, words=('"recording": "a"', '"event": "begun"', '"pieces": ', '"done"',
                                                   '"frames": ', '"warnings": [', '"format": "bdis-batch"', "1e999")),
    "earlier_summary": Reader(_earlier_summary, (), ('{"bdis": "1"', '"files": [', '"../a"')),
    "run_log": Reader(_run_log, (OSError,), ('{"key": "frame 1", "value": ', '"key"', '"value"')),
    "depth_video": Reader(_depth_video, words=("BDIS_STEPS_PER_MM", "V_FFV1")),
}  # fmt: skip
