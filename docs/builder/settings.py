"""The page that shows what each setting does to a picture: the same pair, matched with three values of it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SIZE = {"height": 240, "width": 320, "seed": 5}
_HEAD = """# What each setting does

The same pair with three values of one setting, the middle one that of the preset; the rest is as in the preset. Below
each map: the share of known pixels, and the mean error of those that both cameras see. Grey is unknown. The scene is
rendered (`bdis render instruments`, 320x240 px), so that the effect on your images may be another; how to set them, and
the table of all, is in [settings](../settings.md).
"""


@dataclass(frozen=True)
class Shown:
    """Which values of a setting are shown, and on what."""

    values: tuple[Any, ...]
    preset: str = "balanced"
    scene: str = "instruments"
    options: dict[str, Any] = field(default_factory=dict)  # of the renderer
    others: dict[str, Any] = field(default_factory=dict)  # other settings that it needs
    has_rim: bool = False  # black outside a circle, as an endoscope sees


_LOWER = {"vertical_shift_px": 1.5}
SHOWN: dict[str, Shown] = {
    "patch_size": Shown((4, 8, 16)),
    "overlap": Shown((0.0, 0.4, 0.75)),
    "stride_rounding": Shown(("down", "up"), "paper"),
    "finest_level": Shown((0, 1, 2)),
    "coarsest_level": Shown((1, None), "fast"),
    "start": Shown(("zero", "global"), scene="tissue", options={"disparity_px": 100}),
    "max_iterations": Shown((1, 5, 12), "fast"),
    "stop_step": Shown((0.0, 0.04, 1.0), "fast"),
    "newton": Shown((False, True), "fast", others={"max_iterations": 3}),
    "min_disparity": Shown((-40.0, 0.0, 30.0)),
    "max_disparity": Shown((25.0, None)),
    "align_rows": Shown(("off", "auto"), options=_LOWER),
    "row_offset": Shown((-1.5, 0.0, 1.5), options=_LOWER, others={"align_rows": "off"}),
    "row_tilt": Shown((-0.02, 0.0, 0.02), others={"align_rows": "off"}),
    "fusion": Shown(("residual", "bayes"), "paper"),
    "window_step": Shown((0.2, 0.5, 2.0), "paper"),
    "sigma_r": Shown((1.0, None, 50.0), "paper"),
    "likelihood_area": Shown(("window", "patch"), "paper"),
    "sigma_spatial": Shown((1.0, 4.0, None), "paper"),
    "spatial_sum": Shown((False, True), "paper"),
    "propagate": Shown((False, True), "paper"),
    "level_weights": Shown(("2^n", "1/n", "equal"), "paper"),
    "smoothing": Shown((0.0, 60.0, 1000.0)),
    "smoothing_edge": Shown((1.0, 8.0, 100.0)),
    "smoothing_rounds": Shown((0, 1, 4)),
    "outlier_distance": Shown((0.2, 1.5, 20.0)),
    "label_level": Shown((None, 1, 0)),
    "label_noise": Shown((0.0, 0.25, 5.0)),
    "slanted": Shown((False, True)),
    "slanted_overlap": Shown((0.0, 0.6, 0.9)),
    "sides": Shown((False, True)),
    "refinement_rounds": Shown((0, 2, 8)),
    "refinement_smoothing": Shown((1.0, 25.0, 1000.0)),
    "refinement_slopes": Shown((False, True)),
    "highlights": Shown((False, True)),
    "dense": Shown((False, True)),
    "min_valid": Shown((0.0, 0.25, 0.75), "fast", has_rim=True),
    "min_support": Shown((0.0, 0.22, 0.8), "paper"),
    "min_probability": Shown((0.0, 0.15, 0.9)),
    "min_surface_probability": Shown((0.0, 0.41, 0.8)),
    "min_island": Shown((0.0, 0.005, 0.3)),
    "max_difference": Shown((0.2, 0.6, 1000.0)),
    "segment_filter": Shown((False, True), "paper"),
}
NOT_SHOWN: dict[str, str] = {
    "bits": "It tells how bright white is in images of 16 bits, and changes no picture of 8 bits.",
    "scatter_smoothing": "It changes the variance of presets without a surface, and no disparity.",
    "variance": "It adds a map to the result, and changes no disparity.",
    "sigma_scale": "It multiplies sigma and the intervals; disparities stay as they are.",
    "threads": "The result has the same bits with any number of threads.",
}


def meaning(setting: Any) -> str:
    """What a setting means, with its range, unit or choices."""
    choices = f" One of {', '.join(f'`{choice!r}`' for choice in setting.choices)}." if setting.choices else ""
    return f"{setting.description()}{choices}"


def write(folder: Path) -> None:
    """Write the page and its pictures."""
    from bdis.common.declared import groups
    from bdis.matching.settings import Settings

    pictures = folder / "settings"
    pictures.mkdir(parents=True, exist_ok=True)
    text = [_HEAD]
    for group, members in groups(Settings).items():
        text.append(f"## {group}\n")
        for setting in members:
            text.append(f"### `{setting.name}`\n\n{meaning(setting)} Default: `{setting.default!r}`.\n")
            if setting.name in NOT_SHOWN:
                text.append(f"{NOT_SHOWN[setting.name]}\n")
                continue
            shown = SHOWN[setting.name]
            _draw(pictures / f"{setting.name}.png", setting.name, shown)
            values = ", ".join(map(repr, shown.values))
            text.append(f"![Disparity with {setting.name} = {values}](settings/{setting.name}.png)\n")
    (folder / "settings.md").write_text("\n".join(text))


def _draw(path: Path, name: str, shown: Shown) -> None:
    """Maps of the disparity with each of the values, side by side."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    import bdis
    from bdis.synthetic import render

    pair = render(shown.scene, **_SIZE, **shown.options)
    left, right = pair.left.copy(), pair.right.copy()
    if shown.has_rim:
        y, x = np.indices(left.shape[:2])
        outside = np.hypot(y - left.shape[0] / 2, x - left.shape[1] / 2) > 0.47 * left.shape[0]
        left[outside], right[outside] = 0, 0
    span = float(np.nanpercentile(pair.full_disparity, 1)), float(np.nanpercentile(pair.full_disparity, 99))
    figure = Figure(figsize=(9, 2.85), layout="constrained")
    for axis, value in zip(figure.subplots(1, 3), [*shown.values, *[None] * (3 - len(shown.values))]):
        axis.set_axis_off()
        if axis.get_subplotspec().colspan.start >= len(shown.values):
            axis.imshow(left)
            axis.set_title("left image", fontsize=11)
            continue
        result = bdis.StereoMatcher(shown.preset, **{**shown.others, name: value}).match(left, right)
        error = np.abs(result.disparity - pair.disparity)
        mean = f"{np.nanmean(error):.2f} px" if np.isfinite(error).any() else "-"
        axis.imshow(result.disparity, cmap=colormaps["turbo"].with_extremes(bad="#c9cdd2"), vmin=span[0], vmax=span[1])
        axis.set_title(f"{name}={value!r}", fontsize=11, family="monospace")
        axis.text(0.5, -0.03, f"{result.coverage:.0%} known, {mean}", transform=axis.transAxes, ha="center", va="top")
    preset = "" if shown.preset == "balanced" else f"preset {shown.preset}"
    figure.suptitle(preset, fontsize=10, x=0.01, ha="left") if preset else None
    figure.savefig(path, dpi=100)
