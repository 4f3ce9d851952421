"""StereoMatcher: the paper's Figure 1, and what goes beyond it."""

import os
import time
from typing import Any, Protocol, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from ..common.declared import taking_settings
from ..display.card import card
from ..vector.cache import prepare
from ..vector.crew import Crew, Threads
from .images import check_pair
from .result import StereoResult
from .setting_names import SettingNames
from .settings import PRESET_SUMMARIES, PRESETS, Settings, nearest_preset, settings_for
from .stages import Stages
from .video import check_previous


def match_in_stages(stages: Stages, crew: Crew) -> None:
    """One match, from the images to the result.  The threads of the crew share the rows of every kernel."""
    has_hidden = stages.pyramid.run(crew)  # levels by 2x2 means, and which pixels were seen
    if stages.rows:
        stages.rows.correct_known(has_hidden, crew)  # beyond the paper: rows that differ, as far as that is known
    for step in stages.steps:  # from the coarsest level to the result: `Stages` has them in their order
        step.run(has_hidden, crew)
    if stages.video:
        stages.video.run(crew)  # beyond the paper: drawn toward the frame before, where the picture stands still


class Cameras(Protocol):
    """What a matcher asks of :class:`bdis.Rig`."""

    @property
    def sigma_scale(self) -> float | None:
        """The setting of that name, fitted to these cameras."""

    def disparity_range(self, *, near_mm: float | None = None, far_mm: float | None = None) -> tuple[float, float]:
        """Smallest and largest disparity in px."""


@taking_settings(Settings)
class StereoMatcher:
    """Dense disparity of a rectified stereo pair, with a probability for every pixel.

    Parameters
    ----------
    preset : str or Settings
        Name in ``bdis.PRESETS``, or settings to start from.
    **settings
        Settings to change, by name; they are listed below, with the values that ``balanced`` has.

    Attributes
    ----------
    settings : Settings
        All settings in use.

    Raises
    ------
    ValueError
        Unknown preset or setting, or a value out of its range.
    TypeError
        A value of the wrong kind.

    Examples
    --------
    >>> import numpy as np, bdis
    >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
    >>> left, right = texture[:, :-4], texture[:, 4:]
    >>> result = bdis.StereoMatcher("fast").match(left, right)
    >>> round(float(np.nanmedian(result.disparity)), 1)
    4.0
    >>> bdis.StereoMatcher("fast", variance=True)
    StereoMatcher('fast', variance=True)
    """

    def __init__(self, preset: str | Settings = "balanced", **settings: Unpack[SettingNames]):
        self._begin(settings_for(preset, dict(settings)))

    def __repr__(self) -> str:
        preset, changed = nearest_preset(self.settings)
        return f"StereoMatcher({', '.join([repr(preset), *(f'{name}={value!r}' for name, value in changed.items())])})"

    def _repr_html_(self) -> str:
        """For notebooks: the preset, what was changed of it, and, folded away, all settings."""
        preset, changed = nearest_preset(self.settings)
        shown = [(name, f"{value!r} instead of {getattr(PRESETS[preset], name)!r}") for name, value in changed.items()]
        rows = [("preset", f"{preset}: {PRESET_SUMMARIES[preset]}"), *shown]
        every = ((name, repr(value)) for name, value in vars(self.settings).items())
        return card(repr(self), rows, more=every)

    @classmethod
    def for_rig(
        cls,
        rig: Cameras,
        preset: str | Settings = "balanced",
        *,
        near_mm: float | None = None,
        far_mm: float | None = None,
        **settings: Unpack[SettingNames],
    ) -> Self:
        """A matcher for given cameras: it searches the disparities that they can have, and has their factor on sigma.

        Parameters
        ----------
        rig : Rig
            The rectified cameras; they may be verged, so that disparities are negative.
        preset : str or Settings
            As for the class.
        near_mm, far_mm : float, optional
            Depth of the nearest and the farthest point in mm.  Default: the baseline, and infinitely far away.
        **settings
            Settings to change, by name; they take precedence.

        Returns
        -------
        StereoMatcher

        Raises
        ------
        ValueError, TypeError
            As for the class; or depths that are no range.

        Examples
        --------
        >>> import bdis
        >>> verged = bdis.Rig(500, cx=320, cy=240, baseline_mm=5, cx_right=350)
        >>> matcher = bdis.StereoMatcher.for_rig(verged, "fast", near_mm=50, far_mm=200)
        >>> matcher.settings.min_disparity, matcher.settings.max_disparity
        (-18.0, 20.0)
        """
        smallest, largest = rig.disparity_range(near_mm=near_mm, far_mm=far_mm)
        of_rig: SettingNames = {"min_disparity": smallest, "max_disparity": largest}
        if rig.sigma_scale is not None:
            of_rig["sigma_scale"] = rig.sigma_scale
        of_rig.update(settings)
        return cls(preset, **of_rig)

    def _begin(self, settings: Settings) -> None:
        self.settings = settings
        self._threads = Threads(settings.threads)
        self._stages: Stages | None = None
        self._is_prepared = False  # are the kernels compiled?
        self._turns: dict[int, object] = {}  # by process, since what others hold does not survive a fork

    def __getstate__(self) -> Settings:
        """A copy gets its own stages and threads: kernels know arrays by their address."""
        return self.settings

    def __setstate__(self, settings: Settings) -> None:
        self._begin(settings)

    def match(
        self,
        left: Any,
        right: Any,
        *,
        left_mask: Any = None,
        right_mask: Any = None,
        previous: StereoResult | None = None,
        bgr: bool = False,
    ) -> StereoResult:
        """Match a rectified pair.

        The first match on a machine compiles the kernels that it needs, which takes some seconds; they are kept.

        Parameters
        ----------
        left, right : array_like, shape (h, w), (h, w, 3) or (h, w, 4)
            Grey, RGB or RGBA; uint8, uint16, or float within 0..1, 0..255 or 0..65535; at least 32x32 pixels.  Exactly
            black pixels count as not seen by the camera.  Of uint16, 10, 12 or 14 bits may be in use, see `bits` of the
            settings.
        left_mask, right_mask : array_like of bool or integers, shape (h, w), optional
            Nonzero where the camera saw something; pixels that are 0 here or black in the image were not seen.
        previous : StereoResult, optional
            Result of the previous frame of a video, made with the same settings (``threads`` may differ).  Where the
            picture stands still, disparities are averaged with it: they flicker less.  Where the picture has moved or
            changed it is not used; made with other settings, or without a surface (``smoothing=0``), not at all.
        bgr : bool
            The channels are in the order blue, green, red, as ``cv2.imread`` returns them.

        Returns
        -------
        StereoResult
            Disparity of the left image, its probability and, if asked for, its variance; its ``warnings`` say what
            looks wrong with the pair.

        Raises
        ------
        ValueError
            Sizes, shapes or values that are not those of a rectified pair; a ``previous`` that no match returned.
        TypeError
            Pixels of an unsupported type, or a ``previous`` that is no result.
        RuntimeError
            Another thread is using this matcher.

        Examples
        --------
        >>> import numpy as np, bdis
        >>> texture = np.random.default_rng(0).integers(1, 255, (64, 101), dtype=np.uint8).repeat(4, 0).repeat(4, 1)
        >>> bdis.StereoMatcher("fast").match(texture[:, :-4], texture[:, 4:]).coverage > 0.5
        True
        """
        process, turn = os.getpid(), object()
        try:
            if self._turns.setdefault(process, turn) is not turn:
                raise RuntimeError("this matcher is busy in another thread; use one matcher per thread")
            return self._match((left, right), (left_mask, right_mask), previous, bgr)
        finally:
            # Ctrl-C arrives after a call, or when a function begins or a loop starts over: not in these two lines.
            if self._turns[process] is turn:
                del self._turns[process]

    def _match(
        self, pair: tuple[Any, Any], masks: tuple[Any, Any], previous: StereoResult | None, bgr: bool
    ) -> StereoResult:
        """As `match`, for the one thread whose turn it is."""
        began = time.perf_counter()
        images = check_pair(*pair, bgr=bgr)
        if previous is not None:
            check_previous(previous, images[0])
        stages = self._stages_for(images[0].shape[:2])
        self._stages = None  # until they are done: what an error or an interrupt leaves behind is not used again
        arrays = stages.begin(images, masks, previous)
        if not self._is_prepared:
            preparing = time.perf_counter()
            prepare([*stages.kernels(), *self._threads.kernels()])
            self._is_prepared = True
            began += time.perf_counter() - preparing  # which is no part of a match
        self._threads.run(lambda crew: match_in_stages(stages, crew))
        stages.release()
        self._stages = stages
        return stages.result(arrays, 1e3 * (time.perf_counter() - began))

    def compute(self, left: Any, right: Any) -> NDArray[np.int16]:
        """Disparity as ``cv2.StereoMatcher.compute`` gives it.

        Parameters
        ----------
        left, right : array_like
            As in :meth:`match`.

        Returns
        -------
        ndarray of int16, shape (h, w)
            16ths of a px; (min_disparity - 1) * 16 where unknown.

        Examples
        --------
        >>> import numpy as np, bdis
        >>> black = np.zeros((48, 64), np.uint8)
        >>> int(bdis.StereoMatcher().compute(black, black).max())
        -16
        """
        disparity = self.match(left, right).disparity
        unknown = (int(np.floor(self.settings.min_disparity)) - 1) * 16
        fixed = np.nan_to_num(disparity * np.float32(16), nan=unknown)
        return np.asarray(np.rint(np.clip(fixed, -32768, 32767)), np.int16)

    def _stages_for(self, size: tuple[int, int]) -> Stages:
        """Buffers are made once per image size."""
        if self._stages is None or self._stages.size != size:
            self._stages = Stages(*size, self.settings)
            self._is_prepared = False
        return self._stages
