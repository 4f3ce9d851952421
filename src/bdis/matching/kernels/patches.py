"""The patches of a level: what the search reads and writes."""

from ...vector.records import Floats, Ints, Record

SHIFTS = 16  # integer shifts in a patch's table: 7 below its start, 8 above
BELOW_START = 7
# Rows of Scratch.tables, 16 shifts for each of sixteen patches: B with its slope to the next shift, D with
# D[s+1] - D[s] - V[s], and V (see shift_tables.py).
STEP, SSD, BEND = range(3)


class Patches(Record):
    """A grid of n rows of m patches, and what was found for each.

    Attributes
    ----------
    rows : ndarray of int32, shape (1, n)
        First image row of each row of patches.
    cols : ndarray of int32, shape (1, m + 16)
        First image column of each patch, the last one repeated.
    disparity : ndarray of float32, shape (n, m + 16)
        px of the level.
    probability : ndarray of float32, shape (n, m + 16)
        0 = rejected.
    variance : ndarray of float32, shape (n, m + 16)
        px^2 of the level, Eq. 15-17; shape (1, 1) if not asked for.
    """

    rows: Ints
    cols: Ints
    disparity: Floats
    probability: Floats
    variance: Floats


class SearchSettings(Record):
    """Settings of the search on one level, in its pixels and in the grey steps of its images.

    Attributes
    ----------
    patch_size : int
        px, even.
    max_iterations : int
        LK steps at most.
    newton : bool
        Divide LK steps by their slope.
    stop : float
        px, a smaller step ends the search.
    radius : float
        px, a search that gets further from its start goes back to it.
    window_step : float
        px between the five samples of the posterior's window.
    likelihood_area : float
        px, s^2 of Eq. 6.
    fixed_variance : float
        sigma_r^2 in grey steps^2, 0 = dynamic.
    min_variance : float
        Floor of the dynamic sigma_r^2, grey steps^2.
    min_valid : float
        Share of a patch's pixels that must be seen by both cameras.
    level_weight : float
        Gamma of this level, Eq. 12.
    min_disparity, max_disparity : float
        px of the level.
    propagate : bool
        Add the probability of the coarser level.
    posterior : bool
        False: deterministic, every converged patch counts as 1.
    variance : bool
        Fit the variance of the patches.
    """

    patch_size: int
    max_iterations: int
    newton: bool
    stop: float
    radius: float
    window_step: float
    likelihood_area: float
    fixed_variance: float
    min_variance: float
    min_valid: float
    level_weight: float
    min_disparity: float
    max_disparity: float
    propagate: bool
    posterior: bool
    variance: bool


class Scratch(Record):
    """Room for one thread to work in; nothing in it outlives a row of patches.

    Attributes
    ----------
    sums : ndarray of int32, shape (10, image_stride)
        See shift_tables.py.
    whole : ndarray of int32, shape (5, 16)
        Whole numbers of sixteen patches.
    real : ndarray of float32, shape (10, 16)
        Real numbers of sixteen patches.
    tables : ndarray of float32, shape (3, 2 * 16 * 17)
        Shift tables of sixteen patches.
    window : ndarray of float32, shape (7, 16)
        Results of patches with unseen pixels, see masked.py.
    listed : ndarray of int32, shape (1, patches in a row + 16)
        The patches of a row that have a start.
    start : ndarray of float32, shape (1, patches in a row + 16)
        Where they start, px.
    """

    sums: Ints
    whole: Ints
    real: Floats
    tables: Floats
    window: Floats
    listed: Ints
    start: Floats
