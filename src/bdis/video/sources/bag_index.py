"""The stereo pairs of a bag: which topics they are on, and which left image belongs to which right one."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...common.printable import printable
from ...connections.ros.bag import Bag, Message
from ...connections.ros.message_types import CAMERA_INFO, parse_message
from ...connections.ros.stereo_topics import check_topics, find_topics, info_topic

NS_PER_S, NS_PER_MS = 1e9, 1e6
TOLERATED = 0.25  # of the time between two frames, by which the stamps of a pair may differ
_LONE_TOLERANCE_MS = 10.0  # if there is one frame only
_HEADER_START = 64  # bytes that have the stamp of a message


@dataclass(frozen=True)
class Pair:
    """A left image, and the right one that was taken with it; None if there is none."""

    stamp_ns: int
    left: Message
    right: Message | None


@dataclass(frozen=True)
class BagIndex:
    """The pairs of a bag.

    Attributes
    ----------
    topics : (str, str)
        Of the left and right images.
    pairs : list of Pair
        In the order of their stamps.
    tolerance_ms : float
        Largest difference between the stamps of a pair.
    infos : (object, object) or None
        The camera_info of both cameras; None if one is missing.
    info_change_s : float or None
        When a camera_info changed for the first time, if it did.
    remarks : list of str
        How the bag was understood.
    """

    topics: tuple[str, str]
    pairs: list[Pair]
    tolerance_ms: float
    infos: tuple[Any, Any] | None
    info_change_s: float | None
    remarks: list[str]


def index_bag(bag: Bag, place: Path, topics: tuple[str, str] | None, tolerance_ms: float | None) -> BagIndex:
    """Find the pairs of a bag.

    Parameters
    ----------
    bag : Bag
        The bag.
    place : Path
        Its name, for messages.
    topics : (str, str) or None
        Topics of the left and right images; None to find them.
    tolerance_ms : float or None
        Largest difference between the stamps of a pair; None for a quarter of the time between two frames.

    Returns
    -------
    BagIndex

    Raises
    ------
    ValueError
        The topics are not there or not clear, or there are no pairs.
    """
    try:
        if topics is None:
            topics = find_topics(bag.topics, bag.counts, lambda topic: _shift(bag, topic))
        else:
            check_topics(topics, bag.topics, bag.counts)
    except ValueError as error:
        raise ValueError("; ".join([f"{place}: {error}", *bag.problems])) from None
    sides = [bag.messages(topic) for topic in topics]
    names = [info_topic(bag.topics, topic) for topic in topics]
    infos = [bag.messages(name) if name else [] for name in names]
    read = _Headers(bag, sides, infos)
    stamps, remarks = _usable_stamps(read, [printable(topic) for topic in topics])
    times, messages = zip(*(_sorted(stamps[side], sides[side]) for side in (0, 1)))
    if tolerance_ms is None:
        step_ms = float(np.median(np.diff(times[0]))) / NS_PER_MS if len(times[0]) > 1 else 0.0
        tolerance_ms = TOLERATED * step_ms if step_ms > 0 else _LONE_TOLERANCE_MS
    partners = _partners(times[0], times[1], tolerance_ms)
    pairs = [
        Pair(int(time), message, None if partner < 0 else messages[1][partner])
        for time, message, partner in zip(times[0], messages[0], partners)
    ]
    paired = partners >= 0
    if not paired.any():
        raise ValueError(_no_pairs(place, topics, times, tolerance_ms))
    apart_ms = np.abs(times[0][paired] - times[1][partners[paired]]).max() / NS_PER_MS
    lone = [int(np.count_nonzero(~paired)), len(times[1]) - int(np.count_nonzero(paired))]
    said = f"{printable(topics[0])} and {printable(topics[1])}: {np.count_nonzero(paired)} pairs"
    if apart_ms > 0:
        said += f", stamps up to {apart_ms:.3g} ms apart"
    if any(lone):
        within = f"within {tolerance_ms:.3g} ms (--tolerance)"
        said += f"; {lone[0]} left and {lone[1]} right images have no partner {within}"
    first = pairs[0].stamp_ns
    change_s = None if read.info_change_ns is None else (read.info_change_ns - first) / NS_PER_S
    both = (read.infos[0], read.infos[1]) if all(info is not None for info in read.infos) else None
    return BagIndex(topics, pairs, tolerance_ms, both, change_s, [said, *remarks])


class _Headers:
    """The stamps of both views, and the calibration of both cameras, read in the order in which they lie in the bag.

    Attributes
    ----------
    stamps : list of list of int or None
        ns since 1970 of every message of each view; None for damaged ones.
    infos : list
        The camera_info of both cameras; None if there is none.
    info_change_ns : int or None
        Time of the first camera_info that differs from the first one.
    """

    def __init__(self, bag: Bag, sides: list[list[Message]], infos: list[list[Message]]):
        self._bag = bag
        self.sides = sides
        self.stamps: list[list[int | None]] = [[], []]
        self.infos: list[Any] = [None, None]
        self.info_change_ns: int | None = None
        self._bodies: list[bytes | None] = [None, None]
        everything = [(message, side, False) for side in (0, 1) for message in sides[side]]
        everything += [(message, side, True) for side in (0, 1) for message in infos[side]]
        for message, side, is_info in sorted(everything, key=lambda one: (one[0].entry.log_ns, one[0].file)):
            try:
                if is_info:
                    self._look_at_info(message, side)
                else:
                    self.stamps[side].append(stamp_of(bag.read_start(message, _HEADER_START), bag.is_ros1))
            except ValueError:
                if not is_info:
                    self.stamps[side].append(None)

    def _look_at_info(self, message: Message, side: int) -> None:
        content = self._bag.read(message)
        body = content[_after_header(content, self._bag.is_ros1) :]
        if self._bodies[side] is None:
            self.infos[side], self._bodies[side] = parse_message(content, CAMERA_INFO, self._bag.is_ros1), body
        elif body != self._bodies[side] and self.info_change_ns is None:
            self.info_change_ns = stamp_of(content, self._bag.is_ros1)


def stamp_of(content: bytes, is_ros1: bool) -> int:
    """The stamp of a message that begins with a header, ns since 1970.

    Raises
    ------
    ValueError
        It is too short, or has a second of nanoseconds.

    Examples
    --------
    >>> stamp_of(bytes([0, 1, 0, 0, 7, 0, 0, 0, 5, 0, 0, 0]), is_ros1=False)
    7000000005
    """
    order = ">" if not is_ros1 and content[1:2] == b"\0" else "<"
    try:
        seconds, rest = struct.unpack_from(f"{order}II", content, 4)
    except struct.error:
        raise ValueError("a message without a stamp") from None
    if rest >= NS_PER_S:
        raise ValueError(f"a stamp with {rest} ns")
    return int(seconds * 10**9 + rest)


def _after_header(content: bytes, is_ros1: bool) -> int:
    """Where a message goes on after its header."""
    order = ">" if not is_ros1 and content[1:2] == b"\0" else "<"
    try:
        (length,) = struct.unpack_from(f"{order}I", content, 12)
    except struct.error:
        raise ValueError("a message without a header") from None
    end: int = 16 + length
    return end if is_ros1 else -(-end // 4) * 4


def _usable_stamps(read: _Headers, topics: list[str]) -> tuple[list[list[int | None]], list[str]]:
    """Stamps of both views, and what is to be said about them; those of damaged messages are when it was recorded."""
    stamps, remarks = read.stamps, []
    known = [stamp for side in stamps for stamp in side if stamp is not None]
    if known and not any(known):
        remarks.append("all stamps are 0: the times at which the images were recorded are taken instead")
        return [[message.entry.log_ns for message in side] for side in read.sides], remarks
    for side, topic in zip(stamps, topics):
        usable = [stamp for stamp in side if stamp]
        if len(usable) < len(side):
            remarks.append(f"{len(side) - len(usable)} images of {topic} have no stamp, or are damaged: left out")
        disordered = sum(later < earlier for earlier, later in itertools.pairwise(usable))
        if disordered:
            remarks.append(f"{topic} is out of order in {disordered} places, and is sorted by its stamps")
    return [[stamp or None for stamp in side] for side in stamps], remarks


def _sorted(stamps: list[int | None], messages: list[Message]) -> tuple[NDArray[np.int64], list[Message]]:
    """Stamps and messages in the order of the stamps, without those that have none."""
    there = [number for number, stamp in enumerate(stamps) if stamp is not None and stamp < 2**62]
    order = sorted(there, key=lambda number: stamps[number] or 0)
    return np.array([stamps[number] for number in order], np.int64), [messages[number] for number in order]


def _partners(left: NDArray[np.int64], right: NDArray[np.int64], tolerance_ms: float) -> NDArray[np.int64]:
    """For each left stamp the number of the right one that it is nearest to and that is nearest to it; -1 if none."""
    if not len(left) or not len(right):
        return np.full(len(left), -1)
    of_left, of_right = _nearest(left, right), _nearest(right, left)
    mutual = of_right[of_left] == np.arange(len(left))
    near = np.abs(left - right[of_left]) <= tolerance_ms * NS_PER_MS
    return np.where(mutual & near, of_left, -1)


def _nearest(ours: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of the nearest of ``others`` (sorted) for each of ours; of equal ones the first."""
    after = np.clip(np.searchsorted(others, ours), 0, len(others) - 1)
    before = np.maximum(after - 1, 0)
    nearest = np.where(np.abs(others[before] - ours) < np.abs(others[after] - ours), before, after)
    return np.searchsorted(others, others[nearest])  # the first of equal ones


def _no_pairs(place: Path, topics: tuple[str, str], times: Any, tolerance_ms: float) -> str:
    counts = f"{len(times[0])} images of {printable(topics[0])} and {len(times[1])} of {printable(topics[1])}"
    if not len(times[0]) or not len(times[1]):
        return f"{place}: {counts} have a stamp; expected both views"
    apart_ms = np.abs(times[0] - times[1][_nearest(times[0], times[1])]).min() / NS_PER_MS
    return (
        f"{place}: no two of {counts} were taken together: their stamps are {apart_ms:.3g} ms apart or more, and "
        f"{tolerance_ms:.3g} ms are tolerated; were the cameras synchronised? If the stamps are not exact, give "
        "--tolerance MS"
    )


def _shift(bag: Bag, topic: str) -> float:
    """P[0, 3] of the camera_info of an image topic; 0 if there is none."""
    name = info_topic(bag.topics, topic)
    for message in bag.messages(name)[:1] if name else []:
        try:
            info = parse_message(bag.read(message), CAMERA_INFO, bag.is_ros1)
            return float((info.P if bag.is_ros1 else info.p)[3])
        except ValueError:
            continue
    return 0.0
