"""What a notebook shows, in files: figures of a result, its card, and the page of ``bdis.show``.

python examples/notebook.py [FOLDER]
"""

import sys
from pathlib import Path

import matplotlib

import bdis
from bdis.synthetic import render

matplotlib.use("agg")  # without a window; notebooks and plt.show() need no such line
folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

pair = render("tissue", height=240, width=320, seed=7)
rig = bdis.Rig(focal_px=pair.focal_px, cx=pair.cx, cy=pair.cy, baseline_mm=pair.baseline_mm, size=(320, 240))
matcher = bdis.StereoMatcher("balanced", variance=True)
result = matcher.match(pair.left, pair.right)
print(result, matcher, sep="\n")  # in a notebook, a cell that ends with result shows its maps

figures = {
    "pair.png": bdis.plot_pair(pair.left, pair.right),
    "disparity.png": result.plot(),
    "depth.png": rig.plot_depth(result, pair.left),
    "errors.png": result.compare(pair.full_disparity),
}
for name, axes in figures.items():
    axes[0].figure.savefig(folder / name)

(folder / "card.html").write_text(result._repr_html_())
bdis.show(result, rig, pair.left, path=folder / "page.html")
points_mm = rig.points(result)
print(f"the point in the middle is at {points_mm[120, 160].round(1)} mm")
print(f"written to {folder}: {', '.join(figures)}, card.html, page.html")
