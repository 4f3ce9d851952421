"""Whether a frame of a video is a key frame, told from packets that are not decoded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

SCANNED_PACKETS = 1000  # in which a key frame is looked for, from the one before on
REORDERED_PACKETS = 16  # a frame that is shown earlier may be stored so many later


def key_frame_at(packets: Iterator[Any], start_s: float, time_s: float) -> float | None:
    """Time of the first frame at or after ``time_s`` if that is a key frame.

    Parameters
    ----------
    packets : iterator of av.Packet
        From the key frame before on.
    start_s : float
        Time of the first frame in the file, seconds, from which times are counted.
    time_s : float
        Seconds.

    Returns
    -------
    float or None
        None, too, if no packet is of a frame before it: some formats seek to a later key frame than they should.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from types import SimpleNamespace
    >>> times = {"time_base": Fraction(1, 25), "is_corrupt": False}
    >>> packets = [SimpleNamespace(pts=number, is_keyframe=number % 10 == 0, **times) for number in range(30)]
    >>> key_frame_at(iter(packets), 0.0, 0.39), key_frame_at(iter(packets), 0.0, 0.35)
    (0.4, None)
    """
    first_s, is_key, behind, is_from_before = float("inf"), False, 0, False
    for packet in islice(packets, SCANNED_PACKETS):
        if packet.pts is None or packet.is_corrupt or behind == REORDERED_PACKETS:
            break
        packet_s = float(packet.pts * packet.time_base) - start_s
        is_from_before |= packet_s < time_s
        if time_s <= packet_s < first_s:
            first_s, is_key = packet_s, packet.is_keyframe
        behind += first_s < float("inf")
    return first_s if is_key and is_from_before else None
