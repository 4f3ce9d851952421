"""A scene that is rendered while it is read, to try everything without any file."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...common.declared import check_names, check_settings, declarations, setting, with_attributes
from ...evaluation.datasets import RENDER, parse_scene, rig_of, with_baseline
from ...synthetic import RenderOptions, SequenceOptions, check_scene, render
from ...synthetic.options import MAX_FRAMES
from .source import NumberedSource, OpenOptions, SourceKind

_VIDEO = "Video"
_STOP_S = 5.0  # how long closing waits for the frame that is being rendered


@with_attributes
@dataclass(frozen=True)
class VideoOptions:
    """Options of a rendered video; checked on construction."""

    frames: int = setting(30, "Number of frames.", group=_VIDEO, low=1, high=MAX_FRAMES)
    distinct: int = setting(
        30,
        "Number of frames that are rendered and kept, at 6 bytes per pixel; the video runs through them forwards and "
        "backwards.",
        group=_VIDEO,
        low=1,
    )
    fps: float = setting(25.0, "Frames per second.", group=_VIDEO, above=0, below=1e6)

    def __post_init__(self) -> None:
        check_settings(self)


class RenderedSource(NumberedSource):
    """A rendered video.

    Rendering takes far longer than matching: each frame is rendered once and kept, and a long video runs forwards and
    backwards through the first ``distinct`` of them.

    Parameters
    ----------
    scene : str
        As in :func:`bdis.synthetic.render`.
    **options
        See :class:`VideoOptions` (frames, distinct, fps), :class:`bdis.synthetic.SequenceOptions` (height, width, seed)
        and :class:`bdis.synthetic.RenderOptions`.

    Raises
    ------
    ValueError
        An unknown scene or option, or a value that it cannot have.
    """

    def __init__(self, scene: str, **options: Any):
        try:
            check_names(options, VideoOptions, SequenceOptions, RenderOptions, what="option")
            video = VideoOptions(**_taken(options, VideoOptions))
            self._size_and_seed = vars(SequenceOptions(**_taken(options, SequenceOptions)))
            self._options = _taken(options, RenderOptions)
            check_scene(scene, **self._size_and_seed, frame=0, options=self._options)
        except TypeError as error:
            raise ValueError(str(error)) from error
        super().__init__(f"render:{scene}", video.frames, video.fps)
        self._scene, self._distinct = scene, min(video.frames, video.distinct)
        self._kept: dict[int, tuple[Array, Array]] = {}
        self._rig: Rig | None = None
        self._is_ahead = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def rig(self) -> Rig:
        if self._rig is None:
            self._keep(0)
        assert self._rig is not None
        return self._rig

    def render_ahead(self) -> None:
        """Render in a thread from now on, for somebody who watches: no frame is waited for but the first.

        Until all are rendered, the video runs to and fro through those that are; from then on it is the same as ever.
        """
        self._is_ahead = True

    @property
    def missing(self) -> int:
        """Number of frames that a video that is rendered ahead still lacks."""
        return self._distinct - self._ready if self._is_ahead else 0

    @property
    def _ready(self) -> int:
        """How many frames are rendered, from the first on without a gap."""
        return next(number for number in range(self._distinct + 1) if number not in self._kept)

    def close(self) -> None:
        super().close()
        self._stop.set()
        if self._thread is not None:
            self._thread.join(_STOP_S)
            self._thread = None

    def _load(self, index: int) -> tuple[Array, Array]:
        if self._rig is None:
            self._keep(0)  # the first frame decides the distance between the cameras
        if self._is_ahead and self._thread is None and self.missing:
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._render, args=(self._stop,), name="bdis-render", daemon=True)
            self._thread.start()
        number = _to_and_fro(index, self._ready if self._is_ahead else self._distinct)
        if number not in self._kept:
            self._keep(number)
        return self._kept[number]

    def _render(self, stop: threading.Event) -> None:
        """Render what is missing, in the order of the video."""
        try:
            while self.missing and not stop.is_set():
                self._keep(self._ready)
        except Exception:  # whoever reads that frame gets the error
            self._is_ahead = False

    def _keep(self, number: int) -> None:
        pair = render(self._scene, **self._size_and_seed, frame=number, **self._options)
        if self._rig is None:
            self._rig, self._options = rig_of(pair), with_baseline(self._options, pair)
        self._kept[number] = pair.left, pair.right


def _to_and_fro(index: int, count: int) -> int:
    """Which of ``count`` frames a video shows that runs through them forwards and backwards.

    >>> [_to_and_fro(index, 3) for index in range(7)]
    [0, 1, 2, 1, 0, 1, 2]
    """
    number = index % max(1, 2 * count - 2)
    return min(number, 2 * count - 2 - number) if count > 1 else 0


def _taken(options: dict[str, Any], cls: type) -> dict[str, Any]:
    """Those of the options that ``cls`` declares."""
    return {name: value for name, value in options.items() if name in declarations(cls)}


def _open(places: list[str], options: OpenOptions) -> RenderedSource:
    if len(places) > 1:
        raise ValueError(f"{places[0]} has both views; do not give a right one")
    scene, given = parse_scene(places[0].removeprefix(RENDER))
    return RenderedSource(scene, **{"fps": options.image_fps, **given})


RENDERED = SourceKind("a rendered scene", lambda place: place.startswith(RENDER), _open)
