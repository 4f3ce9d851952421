"""The figures of "How it works": real intermediate results of the oracles in tests/, on rendered scenes."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_UNKNOWN = "#c9cdd2"
_SEED = 5
_ROW = 96  # of level 1, which is shown as a profile: it crosses both instruments


def write(folder: Path) -> None:
    """Draw all figures."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=110)


@cache
def _pair() -> Any:
    from bdis.synthetic import render

    return render("instruments", 240, 320, seed=_SEED, highlights=0)


@cache
def _span() -> tuple[float, float]:
    """Range of the colours of a disparity map, px."""
    low, high = np.percentile(_pair().full_disparity, [1, 99])
    return float(low) - 1, float(high) + 1


@cache
def _levels() -> list[tuple[Any, Any]]:
    """The levels of preset ``paper`` with what the oracle found on each, coarsest first."""
    from bdis import PRESETS
    from tests import naive

    pair, settings, found, out = _pair(), PRESETS["paper"], None, []
    seen = [np.ones(pair.left.shape[:2], bool)] * 2
    for level in naive.levels_of(pair.left, pair.right, seen, settings):
        found = naive.solve_level(level, found, settings)
        out.append((level, found))
    return out


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _map(axis: Any, values: Any, title: str, cmap: str = "turbo", span: tuple[float, float] | None = None) -> Any:
    from matplotlib import colormaps

    low, high = span or _span()
    axis.set_axis_off()
    axis.set_title(title, fontsize=10)
    return axis.imshow(
        values, cmap=colormaps[cmap].with_extremes(bad=_UNKNOWN), vmin=low, vmax=high, interpolation="nearest"
    )


def _truth(number: int) -> Any:
    """Exact disparity on a level, px of the level."""
    return _pair().full_disparity[:: 2**number, :: 2**number] / 2**number


def scales() -> Any:
    """Image and disparity of every level."""
    levels = _levels()
    figure = _figure(10, 4)
    axes = figure.subplots(2, len(levels))
    for (above, below), (level, found) in zip(axes.T, levels):
        height, width = level.shape
        above.imshow(level.images[0], cmap="gray")
        above.set_title(f"level {level.number}: {width} x {height} px", fontsize=10)
        above.set_axis_off()
        shown = _map(below, found.disparity * 2**level.number, "disparity found")
    figure.colorbar(shown, ax=axes[1], label="px of the image", pad=0.01)
    return figure


@cache
def _patches() -> dict[str, tuple[int, int]]:
    """Row and column of three patches of level 1: much texture, little, and a depth edge."""
    level, _ = _levels()[-1]
    gradient, size, truth = level.pair.gradient[:, level.pair.pad : -level.pair.pad], 10, _truth(1)
    places = [(y, x) for y in range(8, level.shape[0] - 18, 2) for x in range(40, level.shape[1] - 50, 2)]

    def windows(image: Any) -> Any:
        return {(y, x): image[y : y + size, x : x + size] for y, x in places}

    energy = {place: float((each**2).sum()) for place, each in windows(gradient).items()}
    jump = {place: float(np.ptp(each)) for place, each in windows(truth).items()}
    flat = [place for place in places if jump[place] < 0.4]
    return {
        "much texture": max(flat, key=energy.__getitem__),
        "little texture": min(flat, key=energy.__getitem__),
        "two depths in one patch": max(places, key=jump.__getitem__),
    }


def _ssd(place: tuple[int, int], disparities: Any) -> Any:
    """SSD of a patch of level 1 per pixel, squared grey levels."""
    level, _ = _levels()[-1]
    (y, x), pair = place, level.pair
    sums = [pair.ssd(y, x, 10, x - disparity, 0) for disparity in disparities]
    return np.array([np.nan if value is None else value for value in sums]) / 100 / level.scale**2


def _steps(place: tuple[int, int], start: float) -> list[float]:
    """Disparities that the search of a patch passes through."""
    from bdis import PRESETS

    level, _ = _levels()[-1]
    settings, (y, x), passed = PRESETS["paper"], place, [start]
    for _ in range(settings.max_iterations):
        step = level.pair.lk_step(y, x, 10, x - passed[-1], settings.min_valid)
        passed.append(passed[-1] + step)
        if abs(step) < settings.stop_step:
            break
    return passed


def search() -> Any:
    """The search of one patch: where it is, the cost of every shift, and the steps."""
    level, _ = _levels()[-1]
    place = _patches()["much texture"]
    (y, x), true = place, float(_truth(1)[place[0] + 5, place[1] + 5])
    figure = _figure(10, 3.3)
    left, right, curve = figure.subplots(1, 3, width_ratios=[1, 1, 1.7])
    for axis, image, column, title in (
        (left, level.images[0], x, "left: the patch"),
        (right, level.images[1], x - true, "right: where it is"),
    ):
        axis.imshow(image, cmap="gray")
        axis.plot([column, column + 10, column + 10, column, column], [y, y, y + 10, y + 10, y], color="#ff9500")
        axis.set(xlim=(x - 45, x + 35), ylim=(min(y + 40, level.shape[0] - 1), max(y - 30, 0)), title=title)
        axis.set_axis_off()
    start = round(true) + 3
    whole, fine = np.arange(start - 7, start + 9), np.linspace(start - 7, start + 8, 301)
    curve.plot(fine, _ssd(place, fine), color="#888888", label="between them: from two neighbours")
    curve.plot(whole, _ssd(place, whole), "o", color="#1f77b4", label="16 whole shifts, tabulated")
    passed = _steps(place, float(start))
    curve.plot(passed, _ssd(place, passed), ".-", color="#d62728", label=f"{len(passed) - 1} steps from the start")
    curve.axvline(true, color="#2ca02c", linewidth=1, label="exact disparity")
    curve.set(xlabel="disparity, px of level 1", ylabel="mean squared difference", ylim=(0, None))
    curve.legend(fontsize=8)
    return figure


def posterior() -> Any:
    """Cost, five samples and their posterior, for three patches."""
    from bdis import PRESETS
    from tests.naive_steps import s_squared, window_posterior

    settings = PRESETS["paper"]
    figure = _figure(10, 4.2)
    axes = figure.subplots(2, 3, sharex="col")
    for (above, below), (name, place) in zip(axes.T, _patches().items()):
        start = float(_truth(1)[place[0] + 5, place[1] + 5])
        found = _steps(place, start)[-1]
        samples = found + settings.window_step * np.array([0, -2, -1, 1, 2])
        ssd = 100 * _ssd(place, samples)
        fine = np.linspace(found - 3, found + 3, 121)
        variance = max(ssd[0] / 100, 1e-3)
        likelihood = np.exp((ssd[0] - 100 * _ssd(place, fine)) / (2 * variance * s_squared(settings)))
        value = window_posterior(list(ssd), 100, s_squared(settings), min_variance=1e-3)
        above.plot(fine, _ssd(place, fine), color="#888888")
        above.plot(samples, ssd / 100, "o", color="#1f77b4")
        above.set_title(name, fontsize=10)
        above.set_ylim(0, None)
        below.plot(fine, likelihood, color="#888888")
        below.plot(samples, np.exp((ssd[0] - ssd) / (2 * variance * s_squared(settings))), "o", color="#1f77b4")
        below.set(xlabel="disparity, px of level 1", ylim=(0, 1.25))
        below.text(0.03, 0.9, f"posterior of the centre {value:.2f}", transform=below.transAxes, fontsize=9)
    axes[0, 0].set_ylabel("mean squared difference")
    axes[1, 0].set_ylabel("likelihood / centre's")
    return figure


def fusion() -> Any:
    """One row: the patches over it, and what they are fused to."""
    _, found = _levels()[-1]
    columns = np.arange(found.disparity.shape[1])
    figure = _figure(10, 3.2)
    axis = figure.subplots()
    for y, x, disparity, probability in found.patches:
        if y <= _ROW < y + 10 and probability > 0:
            axis.plot([x, x + 9], [disparity, disparity], color="#1f77b4", alpha=min(1.0, probability), linewidth=2)
    axis.plot([], [], color="#1f77b4", label="patches, darker: more probable")
    axis.plot(columns, found.disparity[_ROW], color="#d62728", linewidth=1.4, label="fused")
    axis.plot(columns, _truth(1)[_ROW], color="#2ca02c", linewidth=1, label="exact")
    axis.set(xlabel="column of level 1", ylabel="disparity, px of level 1", ylim=(_span()[0] / 2 - 2, None))
    axis.legend(fontsize=8, loc="upper center")
    return figure


@cache
def _surface() -> tuple[Any, Any]:
    """Fused disparities of the finest level, and the surface of the oracle through them."""
    from bdis import PRESETS
    from tests import naive_surface

    level, found = _levels()[-1]
    settings = PRESETS["balanced"]
    bonds = naive_surface.bonds(level.images[0], settings.smoothing, 1 / (settings.smoothing_edge * level.scale))
    surface, *_ = naive_surface.fit_surface(
        found.disparity, bonds, settings.smoothing_rounds, settings.outlier_distance
    )
    return found.disparity, surface


def surface() -> Any:
    """What was found, the surface through it, and how binding the edges of the image are."""
    from bdis import PRESETS
    from tests import naive_surface

    level, _ = _levels()[-1]
    settings = PRESETS["balanced"]
    patches, smooth = _surface()
    along, _ = naive_surface.bonds(level.images[0], 1.0, 1 / (settings.smoothing_edge * level.scale))
    figure = _figure(10, 2.5)
    axes = figure.subplots(1, 3)
    shown = _map(axes[0], 2 * patches, "fused patches")
    _map(axes[2], 2 * smooth, "surface through them")
    figure.colorbar(shown, ax=axes[2], label="px")
    bond = _map(axes[1], along, "bonds: weak at edges of the image", "gray", (0, 1))
    figure.colorbar(bond, ax=axes[1])
    return figure


def edges() -> Any:
    """Patches, surface, labels: what each does to a depth edge."""
    import bdis

    pair = _pair()
    figure = _figure(10, 4.3)
    axes = figure.subplots(2, 4)
    steps = {
        "patches (paper)": bdis.StereoMatcher("paper"),
        "and a surface": bdis.StereoMatcher("balanced", label_level=None, refinement_rounds=0),
        "and labels, refined": bdis.StereoMatcher("balanced"),
    }
    window = slice(90, 220), slice(60, 260)
    for column, (title, matcher) in enumerate(steps.items()):
        disparity = matcher.match(pair.left, pair.right).disparity
        shown = _map(axes[0, column], disparity[window], title)
        errors = _map(
            axes[1, column], np.abs(disparity - pair.disparity)[window], "error", cmap="magma", span=(0.0, 4.0)
        )
    _map(axes[0, 3], pair.full_disparity[window], "exact")
    axes[1, 3].imshow(pair.left[window])
    axes[1, 3].set_title("left image", fontsize=10)
    axes[1, 3].set_axis_off()
    figure.colorbar(shown, ax=axes[0], label="px", pad=0.01)
    figure.colorbar(errors, ax=axes[1], label="px", pad=0.01)
    return figure


def law() -> Any:
    """Errors in units of the claimed sigma, beside the law and a Gaussian."""
    import bdis
    from bdis.synthetic import render

    ratios = []
    for scene in ("tissue", "colon", "instruments"):
        pair = render(scene, 240, 320, seed=9)
        result = bdis.StereoMatcher("balanced", variance=True).match(pair.left, pair.right)
        ratio = (result.disparity - pair.disparity) / np.sqrt(result.variance)
        ratios.append(ratio[np.isfinite(ratio)])
    ratio = np.concatenate(ratios)
    u = np.linspace(-6, 6, 400)
    figure = _figure(10, 3.2)
    density, tail = figure.subplots(1, 2)
    student = 2 / np.pi / (1 + u**2) ** 2
    gauss = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi)
    for axis in (density, tail):
        axis.hist(ratio, bins=np.linspace(-6, 6, 121), density=True, color=_UNKNOWN, label="errors / sigma")
        axis.plot(u, student, color="#d62728", label="Student's t, 3 degrees of freedom")
        axis.plot(u, gauss, color="#1f77b4", label="Gaussian of the same variance")
        axis.set_xlabel("error / sigma")
    tail.set(yscale="log", ylim=(1e-5, 2), ylabel="density, logarithmic")
    density.set(xlim=(-3, 3), ylabel="density")
    density.legend(fontsize=8)
    return figure


FIGURES: dict[str, Callable[[], Any]] = {
    "scales": scales,
    "search": search,
    "posterior": posterior,
    "fusion": fusion,
    "surface": surface,
    "edges": edges,
    "law": law,
}
