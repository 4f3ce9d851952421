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


def smallest_mark(values: Array) -> tuple[float, str] | None:
    """The smallest disparity, if so many pixels have it that it may rather mean unknown.

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
    >>> smallest_mark(np.float32([-1, -1, 0.5, 1.5, 1.25]))
    (-1.0, '40% of the disparities are exactly -1 px, the smallest')
    """
    smallest = float(values.min(initial=np.inf))
    share = _share_of_mark(values, smallest)
    return (smallest, _in_words(smallest, share, "the smallest")) if smallest <= 0 and share > MANY else None


def _marks(values: Array, probability: Array) -> list[str]:
    """A sentence for the smallest and the largest value, if many pixels have it and it cannot be their disparity."""
    found = [] if (mark := smallest_mark(values)) is None else [mark]
    largest = float(values.max())
    # In maps of whole px many have the largest one rightly.
    does_fit = float((probability[values == largest] > 0.5).mean()) >= FEW_FIT
    if not does_fit and (share := _share_of_mark(values, largest)) > MANY:
        found.append((largest, _in_words(largest, share, "the largest, and do not fit the images")))
    return [f"{odd}: if that means unknown, pass unknown={mark:.9g} (--unknown {mark:.9g})" for mark, odd in found]


def _share_of_mark(values: Array, mark: float) -> float:
    """Share of the disparities that are exactly this one; 0 if all are, as those of a wall."""
    is_mark = values == mark
    return 0.0 if is_mark.all() else float(is_mark.mean())


def _in_words(mark: float, share: float, which: str) -> str:
    """What is odd about a mark."""
    # Nine digits tell any float32 from the next one, so that advice with it can be followed to the letter.
    return f"{share:.0%} of the disparities are exactly {mark:.9g} px, {which}"
