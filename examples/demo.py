"""A stereo pair of wet tissue, rendered here, matched, and compared with its exact depth.

Run it with ``make demo``.  Writes preview.png and result.npz into demo-output/.
"""

import time
from pathlib import Path

import matplotlib
import numpy as np

import bdis
from bdis.synthetic import RenderedPair, render

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OUTPUT = Path("demo-output")
FRAMES = 200


def main() -> None:
    print("rendering a 640x480 pair ...", flush=True)
    pair = render("tissue", 480, 640, seed=7)

    print("first match (compiles the kernels once per machine, about 20 s) ...", flush=True)
    matcher = bdis.StereoMatcher()
    begin = time.perf_counter()
    result = matcher.match(pair.left, pair.right)
    print(f"  took {time.perf_counter() - begin:.1f} s", flush=True)

    print(f"matching {FRAMES} frames on one core ...", flush=True)
    times = []
    for _ in range(FRAMES):
        begin = time.perf_counter()
        result = matcher.match(pair.left, pair.right)
        times.append(time.perf_counter() - begin)

    depth_mm = pair.focal_px * pair.baseline_mm / result.disparity
    error_mm = np.abs(depth_mm - pair.depth_mm)
    error_mm[np.isnan(pair.disparity)] = np.nan
    typical = float(np.median(times))
    print()
    print(f"  preset           balanced, {result.disparity.shape[1]}x{result.disparity.shape[0]}")
    print(f"  time per frame   {typical * 1e3:.2f} ms  ({1 / typical:.0f} Hz)")
    print(f"  coverage         {result.coverage:.1%}")
    print(f"  depth error      median {np.nanmedian(error_mm):.3f} mm, mean {np.nanmean(error_mm):.3f} mm")
    print(f"                   at depths of {pair.depth_mm.min():.0f} to {pair.depth_mm.max():.0f} mm")

    OUTPUT.mkdir(exist_ok=True)
    np.savez_compressed(
        OUTPUT / "result.npz", disparity=result.disparity, probability=result.probability, depth_mm=depth_mm
    )
    save_preview(OUTPUT / "preview.png", pair, result, depth_mm, error_mm)
    print(f"\nsaved {OUTPUT / 'preview.png'} and {OUTPUT / 'result.npz'}")


def save_preview(
    path: Path, pair: RenderedPair, result: bdis.StereoResult, depth_mm: np.ndarray, error_mm: np.ndarray
) -> None:
    """Left image, depth, probability and error in one picture."""
    low, high = np.percentile(pair.depth_mm, [0.5, 99.5])
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.2), layout="constrained")
    panels = (
        ("left image", pair.left, {}, None),
        ("depth", depth_mm, {"cmap": "turbo_r", "vmin": low, "vmax": high}, "mm"),
        ("probability", result.probability, {"cmap": "viridis", "vmin": 0, "vmax": 1}, "0 = unknown"),
        ("depth error", error_mm, {"cmap": "magma", "vmin": 0, "vmax": 1}, "mm"),
    )
    for axis, (title, image, style, unit) in zip(axes.flat, panels):
        shown = axis.imshow(image, interpolation="nearest", **style)
        axis.set_title(title)
        axis.set_axis_off()
        if unit:
            figure.colorbar(shown, ax=axis, label=unit, shrink=0.85)
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    main()
