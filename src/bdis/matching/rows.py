"""Rows that differ: the right image lies a little too high or too low, and is moved back (beyond the paper).

Calibrations are not exact, and cameras move: rows of a rectified pair differ by some tenths of a px up to 2 px, often
more on one side than on the other.  A matcher that compares along rows answers with wrong disparities: at 1 px the
error of `balanced` doubles.  So the offset of the rows and its tilt are estimated from the disparities of a coarser
level, the right image is moved, and the finer levels are searched with rows that agree.

What remains differs from place to place, as lenses are not quite what their calibration says.  Nothing corrects it, but
it tells how far columns may be off, which nobody can see in the images: it enters the variance (`certainty.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..vector.cache import Kernel, prepare
from ..vector.crew import Crew
from . import kernels
from .kernels.layout import Map, image_stride, map_stride
from .kernels.pyramid import Image, Seen, Views
from .kernels.rows import WINDOW_ROWS, RowShift, RowSums, SeenAround
from .memory import Arena
from .result import StereoResult
from .settings import Settings

if TYPE_CHECKING:
    from .stages import Step

FIRST_LEVEL = 2  # whose disparities are the first to be measured with, if the search goes that far down
# What halving and doubling each of these does was measured: docs/constants.md.
MIN_PX = 0.1  # at the centre, or what a tilt adds at the border: less is not corrected; 0.05 makes no difference, 0.2
# leaves more uncorrected
MIN_ERRORS = 4.0  # standard errors of the estimate, likewise; 8 leaves more uncorrected
MIN_REST_PX = 0.02  # the same of an offset, or a tilt, that is corrected already: the rest of it
MIN_REST_ERRORS = 2.0
SPREADS = 0.4, 0.2, 0.1  # px of the level, how much windows may differ in each round; doubled: 30 % more error of the
# offset on rendered scenes; halved: four times as much on sets 30 and 31
MOST_ROUNDS = 12  # with the last of these, until the estimate stays
MIN_STEP_PX = 0.01  # of the estimate from round to round: if it changes less, it stays
SEARCH_AGAIN_PX = 0.75  # missing at a border: coarser levels, searched with such rows, have lost pixels for good
MAX_PX = 4.0  # what can be measured: a px of the first level; 2 refuses what could be corrected
MAX_OFFSET = 100.0  # px of the image, in a video with what was found in the frames before; the setting allows for 50
MAX_TILT = 0.06  # px per px; `shift_rows` allows for less than 1 / 16
MIN_WINDOWS = 16.0  # number of windows that must say something
MIN_WIDTH = 0.1  # of half the width of the image, standard deviation of their columns; else no tilt is estimated
FOLLOW = 0.2  # share of what is missing that the next frame of a video makes up for


Limits = tuple[tuple[float, float], tuple[float, float]]  # px and standard errors of the offset, and of the tilt


class RowEstimate(NamedTuple):
    """How much lower the right image lies; px of the image.

    Attributes
    ----------
    offset : float
        At the centre.
    border : float
        What is added at the right border, and taken away at the left one.
    offset_error, border_error : float
        Their standard errors; infinite if nothing is known.
    """

    offset: float
    border: float
    offset_error: float
    border_error: float

    def is_above(self, limits: Limits) -> tuple[bool, bool]:
        """Whether the offset, and the tilt, are larger than their limits."""
        (offset_px, offset_errors), (border_px, border_errors) = limits
        return (
            abs(self.offset) > max(offset_px, offset_errors * self.offset_error),
            abs(self.border) > max(border_px, border_errors * self.border_error),
        )

    def is_far_below(self, limits: Limits) -> bool:
        """Whether both are less than half of what counts."""
        return 2 * abs(self.offset) < limits[0][0] and 2 * abs(self.border) < limits[1][0]


NOTHING = RowEstimate(0.0, 0.0, np.inf, np.inf)


def solve(rows: RowSums, px: float, known: RowEstimate, *, tilted: bool = True) -> RowEstimate:
    """The straight line through what the windows say.

    Parameters
    ----------
    rows : RowSums
        What they say.
    px : float
        px of the image in one of the level.
    known : RowEstimate
        By which the right image was moved when this was measured.
    tilted : bool
        False: the best line without a tilt.

    Returns
    -------
    RowEstimate
        What is known now; nothing, if too few windows say something or what they say cannot be.
    """
    w, wx, wxx, wv, wxv = rows.sums[:, :5].sum(0, dtype=np.float64).tolist()
    if not w * rows.spread > MIN_WINDOWS:  # a window weighs at most 1 / spread
        return NOTHING
    determinant = w * wxx - wx * wx
    if tilted and determinant > MIN_WIDTH**2 * w * w:
        offset = known.offset + px * (wxx * wv - wx * wxv) / determinant
        border = known.border + px * (w * wxv - wx * wv) / determinant
        found = RowEstimate(offset, border, px * (wxx / determinant) ** 0.5, px * (w / determinant) ** 0.5)
    else:
        found = RowEstimate(known.offset + (px * wv + wx * known.border) / w, 0.0, px / w**0.5, 0.0)
    return found if abs(found.offset) + abs(found.border) < MAX_PX else NOTHING


def unevenness(rows: RowSums, px: float) -> float:
    """By how much rows still differ from place to place, px^2 of the image: the covariance of windows near each other.

    Parameters
    ----------
    rows : RowSums
        What they say.
    px : float
        px of the image in one of the level.
    """
    weight, common = rows.sums[:, 5:7].sum(0, dtype=np.float64).tolist()
    # A window weighs at most 1 / spread; pairs are fewer than windows, but hardly by more than a factor of four.
    if not weight * rows.spread**2 > MIN_WINDOWS / 4:
        return 0.0
    return float(px * px * max(common / weight, 0.0))


class RowAlignment:
    """Estimates how much lower the right image lies than the left one, and moves it.

    Parameters
    ----------
    images : list of dict of int to Image
        Left and right, by level; the finest one is moved, the others are made from it.
    seen : tuple of dict of int to Seen
        The same of what the cameras saw.
    views : dict of int to Views
        Levels that are searched.
    found : dict of int to Map
        Disparities of those levels.
    width : int
        px of the images.
    settings : Settings
        Of the matcher.
    arena : Arena
        Where buffers come from.

    Attributes
    ----------
    offset : float
        px of the image by which the right image was found to lie lower, at the centre.
    tilt : float
        What is added with every column.
    moved : dict of int to (float, float)
        Offset and tilt by which the right image of each level is moved now; none if it is not.
    uneven_px2 : float
        px^2 of the image, by how much rows still differ from place to place; 0 if that was not measured.
    """

    def __init__(
        self, images: list[dict[int, Image]], seen: tuple[dict[int, Seen], dict[int, Seen]],
        views: dict[int, Views], found: dict[int, Map], width: int, settings: Settings, arena: Arena,
    ):  # fmt: skip
        self._left, self._right = images
        self._seen, self._views, self._found, self._width = seen, views, found, width
        self._given = settings.row_offset, settings.row_tilt
        self._estimates = settings.align_rows == "auto"
        self._finest = min(self._right)
        self._first = min(max(settings.finest_level + 1, FIRST_LEVEL), max(found))
        self._last = self._first - 1 if self._first - 1 in found and self._first > self._finest else self._first
        self.offset = self.tilt = self.uneven_px2 = 0.0
        self._start = 0.0, 0.0
        self.moved: dict[int, tuple[float, float]] = {}
        self._is_moved = self._was_wrong = self._was_far = self._is_next = False
        white, scale = 255 * settings.intensity_scale, float(settings.intensity_scale)

        measured = {self._first, max(self._first - 1, self._finest)} if self._estimates else set()
        self._moved = {n: _like(self._right[n], arena) for n in measured}
        self._unmoved = _like(self._right[self._finest], arena)
        self._unmoved_seen = _seen_like(seen[1][self._finest], arena)
        self._shift = RowShift(offset=0.0, tilt=0.0, centre=0.0, white=white)
        self._rows: dict[int, RowSums] = {}
        self._around: dict[int, SeenAround] = {}
        self._seen_found: dict[int, Map] = {}
        for n in measured:
            height, level_width = self._left[n].pixels.shape[0], self._left[n].width
            sums = arena.zeros((-(-height // WINDOW_ROWS), 8), np.float32)
            self._rows[n] = RowSums(sums=sums, spread=1.0, grey=scale, is_levelled=1)
            masks = [arena.zeros((height, image_stride(level_width)), np.uint8) for _ in range(2)]
            seen_found = arena.zeros((height, map_stride(level_width)), np.float32)
            self._around[n] = SeenAround(found=seen_found, left=masks[0], right=masks[1])
            self._seen_found[n] = Map(values=seen_found, width=level_width)

    def begin(self, previous: StereoResult | None) -> None:
        """Take what the settings and the previous frame of a video say."""
        self._start = self._given
        self._is_next = previous is not None and self._estimates
        if previous is not None and self._estimates:
            self._start = previous.row_offset, previous.row_tilt
        self.offset = self.tilt = self.uneven_px2 = 0.0
        self._is_moved = self._was_wrong = self._was_far = False
        self.moved.clear()

    def correct_known(self, has_hidden: bool, crew: Crew) -> None:
        """Before anything is searched: move the right image by what is known."""
        if self._start != (0.0, 0.0):
            self._move(*self._start, max(self._right), has_hidden, crew)

    def measures(self, number: int, found: Map) -> bool:
        """Is a level measured once it was searched?  The first one is, and the next finer one, which is more exact.

        Where a level has labels and patches, it is measured once, with the labels.
        """
        is_due = number == self._first or (number == self._first - 1 and number in self._rows)
        return self._estimates and is_due and found is self._found[number]

    def run(self, number: int, found: Map, has_hidden: bool, crew: Crew) -> bool:
        """After level ``number`` was searched: measure with what was ``found``, and move it and the finer ones.

        For levels that `measures` accepts.

        Returns
        -------
        bool
            On the first level that is measured, and not twice in one match: rows were so far off that all levels were
            moved, and this one and the coarser ones shall be searched again.
        """
        if has_hidden:
            around = self._around[number]
            prepare([kernels.leave_out_unseen])
            kernels.leave_out_unseen(found, self._seen[0][number], self._seen[1][number], around, crew)
            found = self._seen_found[number]
        # Nothing to correct on the first level: the next one has better disparities, but only to judge with.
        if (number == self._first or self._was_wrong) and self._correct(number, found, has_hidden, crew):
            return True
        if number == self._last:
            finest = min(self._rows)
            self._measure(finest, SPREADS[-1], NOTHING, found, number - finest, crew, is_levelled=0)
            self.uneven_px2 = unevenness(self._rows[finest], 2.0**finest)
        return False

    def _correct(self, number: int, found: Map, has_hidden: bool, crew: Crew) -> bool:
        """Move the right image by what is missing, if anything is; whether coarser levels shall be searched again."""
        limits = self._limits()
        missing = self._estimate(number, found, limits, crew)
        if any(missing.is_above(limits)):
            is_most = number == self._first and not self._was_far  # what comes later is the rest of it
            is_far = is_most and abs(missing.offset) + abs(missing.border) > SEARCH_AGAIN_PX
            total = self._without_traces(self.offset + missing.offset, self.tilt + self._tilt(missing.border))
            self._move(*total, max(self._right) if is_far else number, has_hidden, crew)
            self._was_wrong = True
            self._was_far |= is_far
            return is_far
        if self._is_next and number == self._first and not self._was_wrong:
            self._follow(missing)
        return False

    def _limits(self) -> Limits:
        """What counts as missing: of what this match has corrected already, its rest."""
        first, rest = (MIN_PX, MIN_ERRORS), (MIN_REST_PX, MIN_REST_ERRORS)
        has_offset, has_tilt = (self._was_wrong and value != 0 for value in (self.offset, self.tilt))
        return rest if has_offset else first, rest if has_tilt else first

    def _follow(self, missing: RowEstimate) -> None:
        """In a video: the next frame makes up for a part of what was missing in this one."""
        if not np.isfinite(missing.offset_error):
            return
        offset = self.offset + FOLLOW * missing.offset if self.offset else 0.0
        tilt = self.tilt + FOLLOW * self._tilt(missing.border) if self.tilt else 0.0
        self.offset, self.tilt = self._without_traces(offset, tilt)

    def _without_traces(self, offset: float, tilt: float) -> tuple[float, float]:
        """What began as noise and was taken back shall not remain as a hundredth of a px; and no more than can be."""
        offset, tilt = min(max(offset, -MAX_OFFSET), MAX_OFFSET), min(max(tilt, -MAX_TILT), MAX_TILT)
        return (
            offset if abs(offset) > MIN_PX / 2 else 0.0,
            tilt if abs(tilt) > self._tilt(MIN_PX / 2) else 0.0,
        )

    def _tilt(self, border: float) -> float:
        """Change with every column of what changes by ``border`` from the centre to the border."""
        return 2 * border / self._width

    def _estimate(self, number: int, found: Map, limits: Limits, crew: Crew) -> RowEstimate:
        """What is missing, in rounds until it stays.

        The first time two on this level, then on the next finer one, if there is one: it has four times as many
        windows, whose estimates are twice as exact.  Windows that disagree lose their weight only from round to round,
        by half or less of what they add, so that a few rounds would leave a third of what is wrong: of the rows, and of
        what the coarser level took for an offset where there is none.  Estimates that are nothing anyway end early.
        """
        finer = number - 1 if number == self._first and number - 1 in self._rows else number
        rounds = [*zip((number, number), SPREADS)][self._was_wrong :] + [(finer, SPREADS[-1])] * MOST_ROUNDS
        estimate = NOTHING
        for level, spread in rounds:
            known = estimate
            estimate = self._measure(level, spread, known, found, number - level, crew)
            if level != finer:
                continue
            step = max(abs(estimate.offset - known.offset), abs(estimate.border - known.border))
            if step < MIN_STEP_PX or estimate.is_far_below(limits):
                break
        if not estimate.is_above(limits)[1]:
            estimate = solve(self._rows[level], 2.0**level, known, tilted=False)
        return estimate

    def _measure(
        self,
        level: int,
        spread: float,
        known: RowEstimate,
        found: Map,
        halvings: int,
        crew: Crew,
        *,
        is_levelled: int = 1,
    ) -> RowEstimate:
        """One round, with the right image moved by what is ``known``; ``is_levelled`` as in `RowSums`."""
        right, rows = self._right[level], self._rows[level]
        if known.offset or known.border:
            self._set_shift(known.offset, self._tilt(known.border), level)
            kernels.shift_rows(right, self._moved[level], self._shift, crew)
            right = self._moved[level]
        rows.update(spread=spread * spread, is_levelled=is_levelled)
        every = 1 if level == self._first or self._was_wrong else 2  # half of many windows are enough to see it
        kernels.measure_rows(self._left[level], right, found, halvings, every, rows, crew)
        estimate = solve(rows, 2.0**level, known)
        return estimate if abs(self._tilt(estimate.border)) < MAX_TILT else NOTHING

    def _set_shift(self, offset: float, tilt: float, level: int) -> None:
        """In px of a level, around the centre of the image."""
        px = 2.0**level
        self._shift.update(offset=offset / px, tilt=tilt, centre=self._width / (2 * px) - 0.5)

    def _move(self, offset: float, tilt: float, coarsest: int, has_hidden: bool, crew: Crew) -> None:
        """Make the right image anew, moved by ``offset`` and ``tilt``, on all levels up to ``coarsest``."""
        finest, right, seen = self._finest, self._right, self._seen[1]
        if not self._is_moved:
            np.copyto(self._unmoved.pixels, right[finest].pixels)
            if has_hidden:
                np.copyto(self._unmoved_seen.mask, seen[finest].mask)
        self._set_shift(offset, tilt, finest)
        kernels.shift_rows(self._unmoved, right[finest], self._shift, crew)
        for n in range(finest + 1, coarsest + 1):
            kernels.halve_image(right[n - 1], right[n], crew)
        if has_hidden:
            prepare([kernels.shift_seen])
            kernels.shift_seen(self._unmoved_seen, seen[finest], self._shift, crew)
            for n in range(finest + 1, coarsest + 1):
                kernels.halve_seen(seen[n - 1], seen[n])
            for n in range(finest, coarsest + 1):
                if n in self._views:
                    kernels.mark_usable(self._seen[0][n], seen[n], self._views[n])
        self.offset, self.tilt, self._is_moved = offset, tilt, True
        self.moved |= dict.fromkeys(range(finest, coarsest + 1), (offset, tilt))

    def kernels(self) -> list[Kernel]:
        """The kernels that a match may call if all pixels were seen."""
        return [kernels.shift_rows, kernels.halve_image, *([kernels.measure_rows] if self._estimates else [])]


class MeasuredRows(NamedTuple):
    """The rows after one level was searched: measured, and the right image moved if that is needed."""

    rows: RowAlignment
    level: int
    found: Map  # its disparities
    search: Step  # of this level and, before the first measurement, of all coarser ones

    def run(self, has_hidden: bool, crew: Crew) -> None:
        """Measure and move; search again if rows were far off."""
        if self.rows.run(self.level, self.found, has_hidden, crew):
            self.search.run(has_hidden, crew)
            self.rows.run(self.level, self.found, has_hidden, crew)

    def kernels(self) -> list[Kernel]:
        """The kernels that `run` may call if all pixels were seen."""
        return self.rows.kernels()


def _like(image: Image, arena: Arena) -> Image:
    return Image(pixels=arena.zeros(image.pixels.shape, np.int16), width=image.width)


def _seen_like(seen: Seen, arena: Arena) -> Seen:
    return Seen(mask=arena.zeros(seen.mask.shape, np.uint8), width=seen.width)
