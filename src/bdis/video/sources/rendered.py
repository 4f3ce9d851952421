"""A scene that is rendered while it is read, to try everything without any file."""

from typing import Any

from ...cameras.rig import Rig
from ...common.arrays import Array
from ...evaluation.datasets import RENDER, parse_scene, rig_of, with_baseline
from ...synthetic.renderer import RenderedPair, check_scene, render
from .source import DEFAULT_FPS, NumberedSource, OpenOptions, SourceKind


class RenderedSource(NumberedSource):
    """A rendered video.

    Rendering takes far longer than matching.  Therefore each frame is rendered once and kept in memory, and a long
    video plays the first ``distinct`` frames forwards and backwards.

    Parameters
    ----------
    scene, height, width, seed, **options
        As in :func:`bdis.synthetic.renderer.render`.
    frames : int
        Number of frames.
    distinct : int
        Number of different frames; each takes 6 bytes per pixel.
    fps : float
        Frames per second.
    """

    def __init__(
        self,
        scene: str,
        *,
        frames: int = 30,
        distinct: int = 30,
        fps: float = DEFAULT_FPS,
        height: int = 480,
        width: int = 640,
        seed: int = 0,
        **options: Any,
    ):
        for name, count in (("frames", frames), ("distinct", distinct)):
            if not isinstance(count, int) or count < 1:
                raise ValueError(f"{name} is {count}; expected a whole number, 1 or more")
        try:
            check_scene(scene, height, width, seed, 0, options)
        except ValueError as error:
            more = ", and of a video frames, distinct, fps, height, width, seed"
            raise ValueError(f"{error}{more if 'unknown option' in str(error) else ''}") from None
        super().__init__(f"render:{scene}", frames, fps)
        self._arguments: dict[str, Any] = {"scene": scene, "height": height, "width": width, "seed": seed}
        self._options, self._distinct = options, min(frames, distinct)
        self._kept: dict[int, tuple[Array, Array]] = {}
        self._rig: Rig | None = None

    @property
    def rig(self) -> Rig:
        if self._rig is None:
            self._keep(0)
        assert self._rig is not None
        return self._rig

    def _load(self, index: int) -> tuple[Array, Array]:
        place = index % max(1, 2 * self._distinct - 2)
        place = min(place, 2 * self._distinct - 2 - place) if self._distinct > 1 else 0
        if self._rig is None:
            self._keep(0)  # the baseline of all frames is computed from the first one
        if place not in self._kept:
            self._keep(place)
        return self._kept[place]

    def _keep(self, place: int) -> None:
        """Render a frame and keep it."""
        pair: RenderedPair = render(**self._arguments, frame=place, **self._options)
        if self._rig is None:
            self._rig, self._options = rig_of(pair), with_baseline(self._options, pair)
        self._kept[place] = pair.left, pair.right


def _open(places: list[str], options: OpenOptions) -> RenderedSource:
    if len(places) > 1:
        raise ValueError(f"{places[0]} has both views; do not give a right one")
    scene, given = parse_scene(places[0].removeprefix(RENDER))
    return RenderedSource(scene, **{"fps": options.image_fps, **given})


RENDERED = SourceKind("a rendered scene", lambda place: place.startswith(RENDER), _open)
