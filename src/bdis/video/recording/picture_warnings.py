"""Warnings about the pictures of a video: each kind is told once, and counted to the end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from ...cameras.checks import check_rectification
from ...matching.pictures import differing_rows, few_known, few_likely
from ..stream.depth_stream import DepthFrame

FIRST_CHECKS = 3  # frames in a row that are looked at closely
CHECK_EVERY_S = 5.0  # from one close look to the next
CHECK_SHARE = 0.02  # of the time, at most, is spent on them
TOO_FAR = 0.01  # share of pixels that do not fit into the depth video


@dataclass
class PictureWarning:
    """One kind of warning.

    Attributes
    ----------
    text : str
        As it was first said.
    first_frame : int
        Number of the first frame that it is about.
    frames : int
        How many frames it is about.
    of_frames : str
        Among which: "all", or the "checked" ones.
    """

    text: str
    first_frame: int
    frames: int
    of_frames: str


class Recorded(Protocol):
    """What became of a frame: a :class:`Recording` knows it of the latest one.

    Attributes
    ----------
    coverage : float
        Share of its pixels with a disparity.
    too_far : int
        Pixels so far that were beyond ``most_depth_mm``.
    most_depth_mm : float
        The largest depth that can be stored.
    """

    @property
    def coverage(self) -> float: ...

    @property
    def too_far(self) -> int: ...

    @property
    def most_depth_mm(self) -> float: ...


class PictureWarnings:
    """Looks at the frames of a video, at some of them closely, and keeps what is wrong with them.

    A close look takes longer than a match: it runs beside the stream, on the first frames and then now and then.

    Parameters
    ----------
    warn : callable
        Called with the first warning of each kind.
    earlier : dict
        The manifest of the part of the recording that is continued; empty for a new one.
    first_checks : int
        How many frames in a row are looked at closely at first.

    Attributes
    ----------
    checked : int
        Frames that were looked at closely.
    bits : set of int
        Bits of the pixels, as told from the brightest one of each frame.

    Raises
    ------
    ValueError
        The manifest is damaged.
    """

    def __init__(self, warn: Callable[[str], None], earlier: dict[str, Any], first_checks: int = FIRST_CHECKS):
        self._warn = warn
        kept, self.checked, self.bits = _kept(earlier)
        self._found = {kind_of(warning.text): warning for warning in kept}
        self._latest: dict[str, int] = {}  # number of the latest frame of each kind
        self._checks_to_come = first_checks
        self._due_s = 0.0
        self._beside = ThreadPoolExecutor(1, "bdis_check")
        self._running: Future[tuple[int, tuple[str, ...], float]] | None = None
        self._told: set[str] = set()  # kinds that a glance at that frame has found already
        self._too_far = 0

    def note(self, index: int, texts: Iterable[str], of_frames: str = "all") -> None:
        """Count warnings about a frame, and tell those of a new kind."""
        for text in texts:
            kind = kind_of(text)
            if kind not in self._found:
                self._found[kind] = PictureWarning(text, index, 0, of_frames)
                self._warn(f"frame {index}: {text}")
            if self._latest.get(kind) != index:
                self._found[kind].frames += 1
                self._latest[kind] = index

    def look_at(self, frame: DepthFrame, recording: Recorded) -> None:
        """Note what is wrong with a frame that was just recorded; closely, if that is due."""
        texts = self._at_a_glance(frame, recording)
        self.note(frame.index, texts)
        self._collect()
        if self._running is None and time.monotonic() >= self._due_s:
            self._running = self._beside.submit(_look_closely, frame)
            self._told = set(map(kind_of, texts))

    def close(self) -> None:
        """Wait for the last close look."""
        self._beside.shutdown()
        self._collect()

    def entries(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "warnings": [asdict(warning) for warning in self._found.values()],
            "checked_frames": self.checked,
            "bits": sorted(self.bits),
        }

    @property
    def found(self) -> list[PictureWarning]:
        """What was found so far, in the order in which it was first seen."""
        return list(self._found.values())

    def _at_a_glance(self, frame: DepthFrame, recording: Recorded) -> list[str]:
        known = recording.coverage
        texts = [frame.wrong_cut, differing_rows(frame.result), few_known(known), few_likely(frame.result, known)]
        if frame.result.bits is not None:
            self.bits.add(frame.result.bits)
        if len(self.bits) > 1:
            texts.append(
                f"the brightest pixels of some frames have {min(self.bits)} bits, of others {max(self.bits)}: "
                f"--set bits={max(self.bits)} treats all alike"
            )
        too_far, self._too_far = recording.too_far - self._too_far, recording.too_far
        if too_far > TOO_FAR * frame.left.shape[0] * frame.left.shape[1]:
            texts.append(
                f"{too_far} pixels are beyond {recording.most_depth_mm:g} mm, the largest depth that the depth video "
                "can store, and become unknown in it; use a smaller --steps-per-mm"
            )
        return [text for text in texts if text]

    def _collect(self) -> None:
        """Take the outcome of a close look that has ended."""
        if self._running is None or not self._running.done():
            return
        index, texts, took_s = self._running.result()
        self._running = None
        self.checked += 1
        self.note(index, (text for text in texts if kind_of(text) not in self._told), "checked")
        self._checks_to_come -= 1
        if self._checks_to_come <= 0:
            self._due_s = time.monotonic() + max(CHECK_EVERY_S, took_s / CHECK_SHARE)


def _look_closely(frame: DepthFrame) -> tuple[int, tuple[str, ...], float]:
    """Number of the frame, what is wrong with it, and how long that took, s."""
    begin = time.monotonic()
    texts = check_rectification(frame.left, frame.right, frame.result).warnings
    return frame.index, texts, time.monotonic() - begin


def kind_of(text: str) -> str:
    """A warning without its numbers, which differ from frame to frame.

    >>> kind_of("rows differ by 3.2 px on median: this pair does not look rectified")
    'rows differ by # px on median: this pair does not look rectified'
    """
    return re.sub(r"\d+(\.\d+)?", "#", text)


def _kept(earlier: dict[str, Any]) -> tuple[list[PictureWarning], int, set[int]]:
    """Warnings, number of checked frames and bits of an earlier part."""
    warnings, checked, bits = (earlier.get(name, []) for name in ("warnings", "checked_frames", "bits"))
    try:
        kept = [PictureWarning(**entry) for entry in warnings]
        are_texts = all(isinstance(text, str) for each in kept for text in (each.text, each.of_frames))
        numbers = [checked or 0, *bits, *(number for each in kept for number in (each.first_frame, each.frames))]
        if are_texts and all(isinstance(number, int) and number >= 0 for number in numbers):
            return kept, numbers[0], set(bits)
    except TypeError:
        pass
    raise ValueError("manifest.json is damaged: its warnings cannot be read; record into a new folder")


def joined_entries(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The entries of :meth:`PictureWarnings.entries` for a recording that was made in pieces.

    Parameters
    ----------
    pieces : sequence of dict
        The manifests of the pieces.

    Returns
    -------
    dict

    Examples
    --------
    >>> warning = {"text": "3 px", "first_frame": 7, "frames": 2, "of_frames": "all"}
    >>> piece = {"warnings": [warning], "checked_frames": 3, "bits": [8]}
    >>> joined_entries([piece, piece])["warnings"][0]["frames"]
    4
    """
    found: dict[str, dict[str, Any]] = {}
    for warning in (entry for piece in pieces for entry in piece["warnings"]):
        kept = found.setdefault(kind_of(warning["text"]), {**warning, "frames": 0})
        kept["frames"] += warning["frames"]
    return {
        "warnings": list(found.values()),
        "checked_frames": sum(piece["checked_frames"] for piece in pieces),
        "bits": sorted({bits for piece in pieces for bits in piece["bits"]}),
    }
