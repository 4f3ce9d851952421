"""What looks wrong with a disparity map that was given, told from its values and how far these fit the images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..common.arrays import Array

if TYPE_CHECKING:
    from .result import StereoResult

MANY = 0.05  # a share of the pixels that no real disparity has in common to the last digit
# Share of given disparities with a probability above 0.5: 0.21 and more of maps by SGBM, BM, ELAS and DIS flow on 25
# real and rendered pairs; at most 0.03 if these are doubled, in 16ths of a px, or if the images are swapped, and 0.001
# of marks of 64 to 256 px in maps of rendered pairs.
FEW_FIT = 0.1


def suspicions(result: StereoResult) -> list[str]:
    """What looks wrong about a disparity map that was judged, and what to do about it.

    Parameters
    ----------
    result : StereoResult
        Of :func:`bdis.assess`.

    Returns
    -------
    list of str
        Sentences.

    Examples
    --------
    >>> from bdis import StereoResult
    >>> disparity = np.array([[-1, -1, 0.5, 1.5, 1.25]], np.float32)
    >>> suspicions(StereoResult(disparity, np.ones_like(disparity)))
    ['40% of the disparities are exactly -1 px, the smallest: if that means unknown, pass unknown=-1 (--unknown -1)']
    """
    disparity, known = result.disparity, result.known
    values = disparity[known]
    if not values.size:
        return ["no pixel has a disparity, so that there is nothing to assess: is unknown= (--unknown) right?"]
    found = _marks(values, result.probability[known])
    negative = float(np.mean(values < 0))
    if negative > 0.5:
        found.append(
            f"{negative:.0%} of the disparities are negative, as only verged cameras have them: "
            "left pixel x matches right pixel x - disparity; is the sign the other way round?"
        )
    x = np.broadcast_to(np.arange(disparity.shape[1]), disparity.shape)[known]
    outside = float(np.mean((x - values < -0.5) | (x - values > disparity.shape[1] - 0.5)))
    if outside > 0.5:
        found.append(f"{outside:.0%} of the disparities point outside the right image: are they in px?")
    return found


def lone_mark(values: Array) -> tuple[float, str] | None:
    """The disparity that so many pixels have that it may rather mean unknown.

    It is the smallest one, if that is not above 0.  The largest and a smallest one above 0, and 0 and -1 between
    others, as verged cameras have them, must stand alone: with no other value as frequent, with fewer within 1 px,
    other than on a surface, and not in a map of whole px.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Known disparities, px.

    Returns
    -------
    (float, str) or None
        The disparity in px, and what is odd about it in words.

    Examples
    --------
    >>> lone_mark(np.float32([-1, -1, 0.5, 1.5, 1.25]))
    (-1.0, '40% of the disparities are exactly -1 px, the smallest')
    >>> lone_mark(np.float32([64, 64, 10.5, 11.5, 11.25]))
    (64.0, '40% of the disparities are exactly 64 px, the largest')
    >>> lone_mark(np.float32([64, 64, 63.5, 63.25, 63.2])), lone_mark(np.float32([64, 64, 6, 5, 5]))
    (None, None)
    """
    if not values.size:
        return None
    smallest, largest = float(values.min()), float(values.max())
    if smallest <= 0 and (share := _share_of_mark(values, smallest)) > MANY:
        return smallest, _in_words(smallest, share, "the smallest")
    for mark, which in _candidates(smallest, largest).items():
        if (share := _share_of_mark(values, mark)) > MANY and _stands_alone(values, mark):
            return mark, _in_words(mark, share, which)
    return None


def _candidates(smallest: float, largest: float) -> dict[float, str]:
    """Values that people mark unknown pixels by, and what is odd if many have them."""
    usual = "more than have any other"
    return {0.0: usual, -1.0: usual, smallest: "the smallest", largest: "the largest"}


def _marks(values: Array, probability: Array) -> list[str]:
    """A sentence for each value that many pixels have and that cannot be their disparity."""
    smallest, largest = float(values.min()), float(values.max())
    found = []
    for mark, which in _candidates(smallest, largest).items():
        if (share := _share_of_mark(values, mark)) <= MANY:
            continue
        does_fit = float((probability[values == mark] > 0.5).mean()) >= FEW_FIT
        if mark == smallest <= 0:
            found.append((mark, _in_words(mark, share, which)))
        # In maps of whole px many have the largest one rightly.
        elif not does_fit and (mark == largest or _stands_alone(values, mark)):
            found.append((mark, _in_words(mark, share, f"{which}, and do not fit the images")))
    return [f"{odd}: if that means unknown, pass unknown={mark:.9g} (--unknown {mark:.9g})" for mark, odd in found]


def _stands_alone(values: Array, mark: float) -> bool:
    """Whether more disparities are exactly this one than any other, and than lie within 1 px; never in whole px."""
    rest = values[values != mark]
    most = max(np.count_nonzero(np.abs(rest - mark) <= 1), np.unique(rest, return_counts=True)[1].max())
    return bool(most < len(values) - len(rest) and (rest == np.rint(rest)).mean() < 0.5)


def _share_of_mark(values: Array, mark: float) -> float:
    """Share of the disparities that are exactly this one; 0 if all are, as those of a wall."""
    is_mark = values == mark
    return 0.0 if is_mark.all() else float(is_mark.mean())


def _in_words(mark: float, share: float, which: str) -> str:
    """What is odd about a mark."""
    # Nine digits tell any float32 from the next one, so that advice with it can be followed to the letter.
    return f"{share:.0%} of the disparities are exactly {mark:.9g} px, {which}"
