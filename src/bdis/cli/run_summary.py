"""What ``bdis run`` prints when it is done."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from . import terminal
from .live_options import LiveOutputs
from .video_source import FrameWarnings

if TYPE_CHECKING:
    from ..video.opened_source import OpenedSource
    from ..video.recording import Recording
    from ..video.recording.picture_warnings import PictureWarning, PictureWarnings
    from ..video.stream.depth_stream import DepthStream


def report(
    opened: OpenedSource,
    recording: Recording,
    stream: DepthStream,
    warnings: FrameWarnings,
    pictures: PictureWarnings,
    live: LiveOutputs,
    preset: str,
    resumed_after: int,
    coverage: float,
) -> None:
    """Print the outcome."""
    from ..video.recording import read_manifest

    statistics, manifest = stream.statistics(), read_manifest(recording.folder)
    height, width = recording.plan.shape
    files = recording.outputs()
    source, layout = opened.source.name, opened.source.layout
    views = "" if layout is None else f", {layout}"
    rows: list[tuple[str, str]] = [("source", f"{source}{views}, {width}x{height}, preset {preset}")]
    rows += [("", remark) for remark in opened.all_remarks["source_remarks"]]
    rows += [("calibration", remark) for remark in opened.remarks]
    rows.append(("frames", f"{recording.frames}" + (f", {resumed_after} of them before" if resumed_after else "")))
    if statistics.frames > 1:
        rows += _speed_rows(statistics)
        if not math.isnan(coverage):  # of new frames; a repair has none
            rows.append(("known", f"{coverage:.1%} of the pixels"))
    if manifest["lost"] or statistics.dropped:
        of = _of_promised(recording.frames + manifest["lost"], manifest["run"]["source"]["frames"])
        rows.append(
            ("lost", f"{manifest['lost']} frames{of} are damaged or missing (frames.csv: lost_before); "
                     f"{statistics.dropped} dropped")
        )  # fmt: skip
    if statistics.suspect:
        rows.append(("suspect", f"{statistics.suspect} frames depend on damaged ones; frames.csv marks them"))
    rows += picture_rows(pictures)
    rows += live.rows()
    rows += _unit_rows(recording, manifest)
    rows.append(("written", f"{recording.folder}: {', '.join(files)}"))
    terminal.table(rows)
    terminal.give(
        {
            "folder": recording.folder, "state": "complete", "frames": recording.frames, "lost": manifest["lost"],
            "resumed_after": resumed_after, "size": [width, height], "preset": preset, "calibration": opened.remarks,
            "source_remarks": opened.all_remarks["source_remarks"],
            "coverage": coverage, "figures": asdict(statistics), "warnings": warnings.warnings,
            "picture_warnings": manifest["warnings"], "files": files, **live.entries(),
        }
    )  # fmt: skip


def _of_promised(came_or_lost: int, promised: int | None) -> str:
    """How many frames a source says it has, and whether that can be.

    >>> _of_promised(91, 90)
    ' (91 came or were lost: the 90 that the source says it has is not reliable)'
    """
    if promised is None:
        return ""
    if came_or_lost > promised:  # damaged times make two frames of one
        return f" ({came_or_lost} came or were lost: the {promised} that the source says it has is not reliable)"
    return f" of the {promised} that the source says it has"


def picture_rows(pictures: PictureWarnings) -> list[tuple[str, str]]:
    """The bits of the pixels, and what is wrong with the pictures."""
    from .match import bits_in_words

    bits = bits_in_words(max(pictures.bits, default=None)).removeprefix(", ")
    warnings = [
        ("warning", f"{found.text} (first at frame {found.first_frame}; {_count_text(found, pictures.checked)})")
        for found in pictures.found
    ]
    return [*([("pixels", bits)] if bits else []), *warnings]


def _count_text(found: PictureWarning, checked: int) -> str:
    frames = "1 frame" if found.frames == 1 else f"{found.frames} frames"
    return f"{frames} of {checked} that were checked" if found.of_frames == "checked" else frames


def _unit_rows(recording: Recording, manifest: dict[str, Any]) -> list[tuple[str, str]]:
    """What the values of the depth video and the colours of the preview mean."""
    rows = []
    if "video" in recording.plan.save:
        video = manifest["video"]
        beyond = f"; {video['pixels_beyond']} pixels are beyond" if video["pixels_beyond"] else ""
        rows.append(("depth video", f"steps of {video['unit']}, up to {video['largest_mm']:g} mm{beyond}"))
    if "preview" in recording.plan.save and "preview" in manifest:
        shown = manifest["preview"]
        quantity, unit = shown["shows"].split("_")
        span = f"{quantity} {shown['near']:g} to {shown['far']:g} {unit}"
        rows.append(("preview", f"{span}, range from: {shown['range_from']}"))
    return rows


def _speed_rows(statistics: Any) -> list[tuple[str, str]]:
    """Speed and latency of a stream."""
    latency = statistics.latency_ms
    return [
        ("speed", f"{statistics.fps:.1f} frames/s, {statistics.match_ms.p50:.1f} ms to match one"),
        ("latency", f"median {latency.p50:.0f} ms, 95 % below {latency.p95:.0f} ms, 99 % below {latency.p99:.0f} ms"),
    ]
