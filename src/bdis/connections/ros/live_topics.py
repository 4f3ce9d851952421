"""Stereo pairs and calibrations from live topics, as they come over the bridge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ...common.arrays import Array
from ...common.printable import printable
from ..ros2.bdis_ros.bridge import BridgeError, Message
from .image_messages import compressed_image_of, image_of
from .message_types import CAMERA_INFO, COMPRESSED, IMAGE, full_name, parse_message
from .messages import stamp_ns_of
from .pairing import StampPairs
from .stereo_topics import StereoTopics, find_live_topics

TOLERANCE_S = 0.005
REPEAT_S = 10.0  # until the same is said again
QUIET_S = 2.0  # without images, before that is said
LONE_IMAGES = 12  # without a pair, before that is said: at first one camera is heard before the other
LISTED_TOPICS = 12  # in a message about a topic that is missing
_SIDES = {"left": 0, "right": 1}


class LivePair(NamedTuple):
    """The messages of a pair.

    Attributes
    ----------
    stamp_ns : int
        Stamp of the left image, which all results have.
    frame_id : str
        Of the left image.
    left, right : object
        ``sensor_msgs/Image`` or ``sensor_msgs/CompressedImage``.
    """

    stamp_ns: int
    frame_id: str
    left: Any
    right: Any

    def images(self) -> tuple[Array, Array]:
        """Both images, grey or RGB; ValueError as of :func:`image_of`."""
        left, right = (
            image_of(message) if hasattr(message, "encoding") else compressed_image_of(message)
            for message in (self.left, self.right)
        )
        return left, right


class Counts(NamedTuple):
    """What became of the images.

    Attributes
    ----------
    images : int
        That arrived, left and right.
    pairs : int
        That were found.
    unpaired : int
        Images whose partner never came.
    late : int
        Images that came after later ones.
    replaced : int
        Pairs that were left out because a newer one had arrived.
    damaged : int
        Messages that could not be read.
    """

    images: int
    pairs: int
    unpaired: int
    late: int
    replaced: int
    damaged: int


class LiveTopics:
    """Takes what a node sends, asks it for the topics that are needed, and keeps the newest pair.

    Parameters
    ----------
    ros : {1, 2}
        Version of ROS.
    send : callable
        Sends a message to the node: ``send(kind, payload, **fields)``.
    report : callable
        Called with a sentence for the user; the same one at most every ``REPEAT_S``.
    wanted : StereoTopics, optional
        The topics.  Default: found by their names.
    needs_info : bool
        The calibration comes from ``camera_info``.
    tolerance_s : float
        By how much the stamps of left and right may differ.
    node_name : str
        Name of the node; topics below it are its own, and not looked at.

    Attributes
    ----------
    topics : StereoTopics or None
        None as long as they are not found.
    changes : int
        How often a ``camera_info`` has changed.
    state : dict
        The latest one of the node: ``ready``, ``problem``, ``topics``, ``wanted`` and ``parameters``.

    Examples
    --------
    >>> topics = LiveTopics(1, lambda kind, payload=b"", **fields: None, print)
    >>> topics.waiting_for()
    'waiting for the ROS node'
    """

    def __init__(
        self,
        ros: int,
        send: Callable[..., None],
        report: Callable[[str], None],
        *,
        wanted: StereoTopics | None = None,
        needs_info: bool = True,
        tolerance_s: float = TOLERANCE_S,
        node_name: str = "bdis",
    ):
        self.topics = wanted
        self.is_ros1 = ros == 1
        self._send, self._report = send, report
        self._keys = ("left", "right", "left_info", "right_info") if needs_info else ("left", "right")
        self._tolerance_s, self._own = tolerance_s, f"/{node_name}/"
        self._pairs: StampPairs[Any] = StampPairs(tolerance_s)
        self._subscribed: dict[str, tuple[str, str]] = {}
        self._infos: dict[str, tuple[Any, ...]] = {}
        self._info_messages: dict[str, Any] = {}
        self._heard_s: dict[str, float] = {}
        self._said_s: dict[str, float] = {}
        self._newest: LivePair | None = None
        self._changed = threading.Condition()
        self._images = self._paired = self._replaced = self._damaged = 0
        self._images_at_pair = 0  # when the last pair was found
        self.changes = 0
        self.state: dict[str, Any] = {}

    # ------------------------------------------------------------ what the node sends, from the thread of the link

    def handle(self, message: Message) -> None:
        """Take a message; BridgeError if the node should not have sent it."""
        if message.kind == "hello":  # a new node
            self._subscribed, self.state = {}, {}
        elif message.kind == "state":
            self._take_state(message)
        elif message.kind == "note":
            self._report(f"the ROS node: {printable(message.get('text', str))}")
        elif message.kind in ("image", "info"):
            key, kind = message.get("key", str), message.get("type", str)
            if key not in self._keys or (message.kind == "info") != key.endswith("_info"):
                raise BridgeError(f"the node sent {message.kind} of {key!r:.40}")
            self._heard_s[key] = time.monotonic()
            try:
                self._take(key, kind, message.payload)
            except (ValueError, AttributeError) as error:
                self._damaged += 1
                self._say(f"{getattr(self.topics, key)}: {printable(str(error))[:300]}")
        else:
            raise BridgeError(f"the node sent a message of kind {message.kind!r:.40}")

    def _take_state(self, message: Message) -> None:
        state = {
            "ready": message.get("ready", bool), "problem": printable(message.get("problem", str)),
            "wanted": message.get("wanted", list), "parameters": message.get("parameters", dict),
        }  # fmt: skip
        topics = [_topic_of(entry) for entry in message.get("topics", list)]
        state["topics"] = [topic for topic in topics if self._own not in topic[0]]
        self.state = state
        if self.topics is None:
            try:
                found = find_live_topics({name: full_name(kind) for name, kind in state["topics"]})
            except ValueError as error:
                self._say(str(error))
                return
            if found is None:
                return
            self.topics = found
            self._report(f"found {found.left} and {found.right}")
        self._subscribe(dict(state["topics"]))

    def _subscribe(self, there: dict[str, str]) -> None:
        assert self.topics is not None
        new = {}
        for key in self._keys:
            topic = getattr(self.topics, key)
            kind = there.get(topic)
            expected = (CAMERA_INFO,) if key.endswith("_info") else (IMAGE, COMPRESSED)
            if kind is None or self._subscribed.get(key) == (topic, kind):
                continue
            if full_name(kind) not in expected:
                self._say(f"{topic} is of type {kind}; expected {' or '.join(expected)}")
                continue
            new[key] = (topic, kind)
        if new:
            try:
                self._send("subscribe", topics=new)
            except OSError:
                return  # the node is gone; the next one is asked again
            self._subscribed.update(new)

    def _take(self, key: str, kind: str, payload: Any) -> None:
        if full_name(kind) not in ((CAMERA_INFO,) if key.endswith("_info") else (IMAGE, COMPRESSED)):
            raise ValueError(f"a message of type {kind!r:.80}")
        message = parse_message(payload, kind, self.is_ros1)
        if key.endswith("_info"):
            self._take_info(key, message)
            return
        stamp_ns = stamp_ns_of(message.header)
        with self._changed:
            self._images += 1
            late = self._pairs.late
            pair = self._pairs.add(_SIDES[key], stamp_ns, message)
            if self._pairs.late > late:
                self._say(
                    f"{getattr(self.topics, key)}: images with earlier or equal stamps than those before are left out"
                    + ("; its stamps are 0" if stamp_ns == 0 else "")
                )
            if pair is None:
                return
            self._paired += 1
            self._images_at_pair = self._images
            self._replaced += self._newest is not None
            self._newest = LivePair(pair.stamp_ns, pair.left.header.frame_id, pair.left, pair.right)
            self._changed.notify_all()

    def _take_info(self, key: str, message: Any) -> None:
        """Keep a ``camera_info``, and notice if it differs from the one before."""
        roi = message.roi
        values = (
            message.height, message.width, message.distortion_model, message.binning_x, message.binning_y,
            roi.x_offset, roi.y_offset, roi.height, roi.width,
            *(
                (getattr(message, name) if hasattr(message, name) else getattr(message, name.upper())).tobytes()
                for name in "dkrp"
            ),
        )  # fmt: skip
        with self._changed:
            if self._infos.get(key) == values:
                return
            self._infos[key], self._info_messages[key] = values, message
            self.changes += 1
            self._changed.notify_all()

    def _say(self, text: str) -> None:
        """Report; the same text is said again only after a while."""
        now = time.monotonic()
        if now - self._said_s.get(text, -REPEAT_S) >= REPEAT_S:
            if len(self._said_s) > 100:  # texts that a stranger varies
                self._said_s.clear()
            self._said_s[text] = now
            self._report(text)

    # ------------------------------------------------------------ for the source of frames

    def next_pair(self, timeout_s: float) -> LivePair | None:
        """Wait for a pair that was not taken yet; None if there is none in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._newest is not None, timeout_s)
            pair, self._newest = self._newest, None
            return pair

    def infos(self) -> tuple[Any, Any] | None:
        """The ``camera_info`` of left and right; None as long as one is missing."""
        left, right = (self._info_messages.get(key) for key in ("left_info", "right_info"))
        return None if left is None or right is None else (left, right)

    def counts(self) -> Counts:
        """What became of the images so far."""
        with self._changed:
            pairs = self._pairs
            return Counts(self._images, self._paired, pairs.unpaired, pairs.late, self._replaced, self._damaged)

    def waiting_for(self) -> str:
        """Why there are no pairs now, in words; empty if there is no reason known."""
        state = self.state
        if not state:
            return "waiting for the ROS node"
        if state["problem"]:
            return str(state["problem"])
        if self.topics is None:
            return f"waiting for two image topics whose names differ in left and right; {self._there()}"
        missing = [getattr(self.topics, key) for key in self._keys if key not in self._subscribed]
        if missing:
            return f"waiting for {' and '.join(missing)}; {self._there()}"
        now = time.monotonic()
        quiet = [
            getattr(self.topics, key)
            for key in self._keys
            if now - self._heard_s.get(key, 0.0) > QUIET_S and not (key.endswith("_info") and key in self._infos)
        ]
        if quiet:
            return f"nothing comes on {' and '.join(quiet)}"
        counts = self.counts()
        if counts.damaged and not counts.images:
            return f"no message of {counts.damaged} could be read"
        if self._pairs.nearest_s is not None and counts.images - self._images_at_pair >= LONE_IMAGES:
            return (
                f"the stamps of left and right differ by {1e3 * self._pairs.nearest_s:.1f} ms, more than the tolerance "
                f"of {1e3 * self._tolerance_s:g} ms: synchronise the cameras, or give --tolerance"
            )
        return ""

    def _there(self) -> str:
        names = [name for name, kind in self.state["topics"] if full_name(kind) in (IMAGE, COMPRESSED)]
        more = f" and {len(names) - LISTED_TOPICS} more" if len(names) > LISTED_TOPICS else ""
        listed = ", ".join(printable(name) for name in names[:LISTED_TOPICS])
        return f"image topics there: {listed}{more}" if names else "there are no image topics"


def _topic_of(entry: Any) -> tuple[str, str]:
    if not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(text, str) for text in entry):
        raise BridgeError("the node sent a list of topics that is none")
    return entry[0], entry[1]
