"""The levels of the pyramid: how many there are, their sizes and weights."""

from collections.abc import Callable, Iterable

from .settings import Settings

# What halving and doubling each of these does was measured: docs/constants.md.
MIN_COARSEST_SIDE_PX = 12  # of the coarsest level, without a global start; 6 and 24 lose 10 to 25 % of coverage
MIN_START_SIDE_PX = (
    20  # of the level where all disparities are tried; 10: +14 % error on the sets, 40: four times the work
)

_GAMMA: dict[str, Callable[[int], float]] = {
    "1/n": lambda n: 1 / n,
    "2^n": lambda n: 2.0**n,
    "equal": lambda n: 1.0,
}


def halved(height: int, width: int, times: int) -> tuple[int, int]:
    """Size of a level; an odd last row or column counts as a whole one.

    Examples
    --------
    >>> halved(480, 641, 1)
    (240, 321)
    """
    for _ in range(times):
        height, width = (height + 1) // 2, (width + 1) // 2
    return height, width


def coarsest_level(height: int, width: int, settings: Settings) -> int:
    """Coarsest level of the pyramid, no coarser than the settings ask.

    Its short side holds a patch and at least 12 px, or 20 px where all disparities are tried.
    """
    wanted = 10 if settings.coarsest_level is None else settings.coarsest_level
    if settings.start == "global":
        side, level = MIN_START_SIDE_PX, settings.finest_level + 1  # a start is for a finer level
    else:
        side, level = max(settings.patch_size, MIN_COARSEST_SIDE_PX), settings.finest_level
    while level < wanted and min(halved(height, width, level + 1)) >= side:
        level += 1
    return level


def level_weights(numbers: Iterable[int], settings: Settings) -> dict[int, float]:
    """Gamma of each level (Eq. 12), summing to 1; 1 for every level without propagation.

    Where level 0 is one of them, levels count from 1: the formulas are for n = 1, 2, ...

    Examples
    --------
    >>> level_weights([1, 2], Settings(level_weights="equal"))
    {1: 0.5, 2: 0.5}
    >>> level_weights([0, 1], Settings(level_weights="1/n", finest_level=0))
    {0: 0.6666666666666666, 1: 0.3333333333333333}
    """
    numbers = list(numbers)
    if not settings.propagate:
        return dict.fromkeys(numbers, 1.0)
    first = 1 if 0 in numbers else 0
    raw = {n: _GAMMA[settings.level_weights](n + first) for n in numbers}
    return {n: value / sum(raw.values()) for n, value in raw.items()}
