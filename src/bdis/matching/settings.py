"""Settings of the matcher, checked on construction, and the presets."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Everything that can be set; the defaults are preset ``balanced``."""

    # Patches and pyramid
    patch_size: int = 8  # px of a level, even, 4 to 16
    overlap: float = 0.40  # share of a patch covered by its neighbour, 0 to 0.95; stride = floor(size * (1 - overlap))
    finest_level: int = 1  # last level searched, 1 to 4: a pixel of level n is 2^n x 2^n image pixels
    coarsest_level: int | None = None  # first level searched, up to 10; None: as coarse as the image allows

    # Where the search starts
    start: Literal["global", "zero"] = "global"  # all disparities tried on a coarse level, or 0 as in the paper

    # Search [III-A]
    max_iterations: int = 8  # LK steps at most, 1 to 100
    newton: bool = True  # divide each step by its slope, known from the table: the same places in half the steps
    stop_step: float = 0.01  # px of a level, a smaller step ends the search, 0 to 1
    min_disparity: float = 0.0  # px, may be negative (verged cameras)
    max_disparity: float | None = None  # px; None: as far as the image goes

    # Posterior [III-B] and fusion [III-C]
    fusion: Literal["bayes", "residual"] = "bayes"  # the paper's mixture, or DIS (Eq. 2), without what follows
    window_step: float = 1.0  # px of a level between the five samples of the window, 0.1 to 2
    sigma_r: float | None = None  # grey levels, fixed sigma_r of Eq. 6; None: dynamic
    sigma_spatial: float | None = 4.0  # px of a level, sigma_s of Eq. 9; None: no spatial mixture
    propagate: bool = True  # add the coarser levels' probability [III-D]
    level_weights: Literal["1/n", "2^n", "equal"] = "2^n"  # Gamma of Eq. 12

    # The surface through the disparities of the finest level (beyond the paper)
    smoothing: float = 60.0  # how strongly neighbours are bound, 0 (no surface) to 1000
    smoothing_edge: float = 8.0  # grey levels between neighbours that weaken their bond to 1/e, 0.1 to 1000
    smoothing_rounds: int = 1  # rounds in which outliers lose their weight, 0 to 10
    outlier_distance: float = 1.5  # px of a level from the surface where a disparity keeps a quarter of its weight
    sharpening: int = 0  # rounds in which pixels at depth edges choose their side, 0 to 10; needs `slanted`
    slanted: bool = True  # search the finest level again, with patches that lie on the surface
    dense: bool = False  # every pixel gets a disparity, filled from its surroundings
    variance: Literal[False, True, "paper"] = False  # True: calibrated; "paper": Eq. 16-19

    # What is thrown away [III-F]
    min_valid: float = 0.25  # share of a patch's pixels that both cameras saw, 0 to 1
    min_support: float = 0.22  # share of a pixel's spatial weight that accepted patches must hold, 0 to 1
    min_probability: float = 0.35  # pixels below are unknown, 0 to 1; of the paper's posterior without a surface
    min_island: float = 0.005  # share of the picture; smaller pieces of the surface are removed, 0 to 1
    segment_filter: bool = True  # remove segments under 4^(coarsest - n) pixels on each level n

    threads: int = 1  # rows are shared out among this many threads; the result does not depend on it

    def __post_init__(self) -> None:
        _check_types(self)
        _check(
            self.patch_size % 2 == 0 and 4 <= self.patch_size <= 16, self, "patch_size", "an even number from 4 to 16"
        )
        _check(0 <= self.overlap <= 0.95, self, "overlap", "from 0 to 0.95")
        _check(1 <= self.finest_level <= 4, self, "finest_level", "from 1 to 4")
        _check(
            self.coarsest_level is None or self.finest_level <= self.coarsest_level <= 10,
            self, "coarsest_level", f"None or from finest_level ({self.finest_level}) to 10",
        )  # fmt: skip
        _check(1 <= self.max_iterations <= 100, self, "max_iterations", "from 1 to 100")
        _check(0 <= self.stop_step <= 1, self, "stop_step", "from 0 to 1 px")
        _check(abs(self.min_disparity) < 1e5, self, "min_disparity", "a number of px between -1e5 and 1e5")
        _check(
            self.max_disparity is None or self.min_disparity < self.max_disparity < 1e5,
            self, "max_disparity", f"None or above min_disparity ({self.min_disparity:g} px) and below 1e5",
        )  # fmt: skip
        _check(0.1 <= self.window_step <= 2, self, "window_step", "from 0.1 to 2 px")
        _check(
            self.sigma_r is None or 0 < self.sigma_r <= 1000,
            self,
            "sigma_r",
            "None or above 0 and at most 1000 grey levels",
        )
        _check(
            self.sigma_spatial is None or 0.1 <= self.sigma_spatial <= 1000,
            self, "sigma_spatial", "None or from 0.1 to 1000 px",
        )  # fmt: skip
        _check(0 <= self.smoothing <= 1000, self, "smoothing", "from 0 to 1000")
        _check(0.1 <= self.smoothing_edge <= 1000, self, "smoothing_edge", "from 0.1 to 1000 grey levels")
        _check(0 <= self.smoothing_rounds <= 10, self, "smoothing_rounds", "from 0 to 10")
        _check(0 <= self.sharpening <= 10, self, "sharpening", "from 0 to 10")
        _check(0.01 <= self.outlier_distance <= 100, self, "outlier_distance", "from 0.01 to 100 px")
        for name in ("min_valid", "min_support", "min_probability", "min_island"):
            _check(0 <= getattr(self, name) <= 1, self, name, "from 0 to 1")
        _check(1 <= self.threads <= 256, self, "threads", "from 1 to 256")

    @property
    def stride(self) -> int:
        """Distance between patches, px of a level."""
        return max(1, int(self.patch_size * (1 - self.overlap) + 1e-9))

    @property
    def search_radius(self) -> float:
        """How far a search may go from its start, px: half a patch, or what fits the 16 shifts of its table."""
        return min(self.patch_size / 2, 7 - 2 * self.window_step)

    @property
    def intensity_scale(self) -> int:
        """Steps per 8-bit grey level: as many as let the sums over a patch fit 32-bit integers."""
        return 16 if self.patch_size <= 10 else 8


def _check(good: bool, settings: Settings, name: str, expected: str) -> None:
    if not good:
        value = getattr(settings, name)
        shown = f"{value:g}" if isinstance(value, float) else repr(value)
        raise ValueError(f"{name} must be {expected}, but it is {shown}")


_KINDS: dict[str, tuple[type, str]] = {
    "int": (numbers.Integral, "a whole number"),
    "float": (numbers.Real, "a number"),
    "bool": (bool, "True or False"),
}


def _check_types(settings: Settings) -> None:
    """Reject values of the wrong kind before comparing them; NumPy's numbers become Python's."""
    for field in fields(settings):
        value, kind = getattr(settings, field.name), str(field.type)
        if kind.startswith("Literal"):
            choices = get_args(get_type_hints(Settings)[field.name])
            if value not in choices:
                raise ValueError(f"{field.name} must be one of {', '.join(map(repr, choices))}, but it is {value!r}")
            continue
        name, _, optional = kind.partition(" | ")
        if optional and value is None:
            continue
        allowed, words = _KINDS[name]
        if isinstance(value, np.bool_):
            value = bool(value)
        if not isinstance(value, allowed) or (isinstance(value, bool) and name != "bool"):
            raise TypeError(f"{field.name} must be {words}{' or None' if optional else ''}, but it is {value!r}")
        try:
            value = {"int": int, "float": float, "bool": bool}[name](value)
        except OverflowError:
            raise ValueError(f"{field.name} must be {words} of this world, but it is larger than 1e308") from None
        if value != value:
            raise ValueError(f"{field.name} must be {words}, but it is nan")
        object.__setattr__(settings, field.name, value)


_PLAIN: dict[str, Any] = {
    "start": "zero", "smoothing": 0.0, "sharpening": 0, "slanted": False, "level_weights": "1/n",
    "min_probability": 0.05,
}  # fmt: skip
_PAPER: dict[str, Any] = {
    **_PLAIN, "patch_size": 10, "overlap": 0.55, "coarsest_level": 5, "max_iterations": 12, "newton": False,
    "window_step": 0.5, "min_valid": 0.75, "min_probability": 0.15,
}  # fmt: skip

PRESETS: dict[str, Settings] = {
    # The default: a third of the error of `fast`, and a calibrated probability, for 3.5 times its time.
    "balanced": Settings(),
    # Smaller patches, more of them, and two rounds of everything: for depth edges, and where time is no concern.
    "accurate": Settings(patch_size=6, overlap=0.60, smoothing_rounds=2, sharpening=2),
    # No surface, and a search that is content with a 25th of a pixel.
    "fast": Settings(**_PLAIN, max_iterations=5, stop_step=0.04),
    # Section IV-A of the paper; min_support is ours, it keeps the probability's scale apart from who voted.
    "paper": Settings(**_PAPER),
    # The preliminary BDIS (2021): fixed sigma_r, no propagation between levels.
    "paper-2021": Settings(**{**_PAPER, "overlap": 0.6, "sigma_r": 8.0, "propagate": False}),
    # Dense inverse search with its deterministic fusion (Eq. 2).
    "dis": Settings(**{**_PAPER, "fusion": "residual", "propagate": False, "min_support": 0.0,
                       "min_probability": 0.0, "segment_filter": False}),
}  # fmt: skip


def settings_for(preset: str, overrides: dict[str, Any]) -> Settings:
    """Settings of a preset with some fields replaced.

    Raises
    ------
    ValueError
        Unknown preset, unknown setting, or a value out of range.
    TypeError
        A value of the wrong kind.

    Examples
    --------
    >>> settings_for("paper", {"patch_size": 8}).patch_size
    8
    """
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ValueError(f"unknown preset {preset!r}; there are {', '.join(PRESETS)}")
    known = [field.name for field in fields(Settings)]
    if unknown := sorted(set(overrides) - set(known)):
        raise ValueError(f"unknown setting {', '.join(unknown)}; there are {', '.join(known)}")
    return replace(PRESETS[preset], **overrides)
