"""Other methods beside bdis
=========================

Error, coverage and time on rendered scenes; ``bdis bench`` does this for whole data sets, with a report.

``python examples/compare_methods.py [FOLDER]`` runs it as a script.
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt

from bdis.evaluation.baselines import method
from bdis.evaluation.datasets import open_dataset
from bdis.evaluation.metrics import mean_score, score_result

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-output")
folder.mkdir(parents=True, exist_ok=True)

frames = list(open_dataset("render:colon,frames=2").frames())
rows = []
for name in ("bdis", "bdis-fast", "sgbm", "dis-flow"):
    largest = max(frame.max_disparity_px for frame in frames)
    matcher, scores, times_ms = method(name).make(largest), [], []
    matcher.match(frames[0].left, frames[0].right)  # the first call prepares buffers and compiled code
    for frame in frames:
        begin = time.perf_counter()
        result = matcher.match(frame.left, frame.right)
        times_ms.append(1e3 * (time.perf_counter() - begin))
        scores.append(score_result(result, frame.without_occluded()))
    mean = mean_score(scores)
    rows.append((method(name).describe([largest]), mean.median_mm, mean.bad_1px, mean.coverage, min(times_ms)))

print(f"{'method':55} median mm  off by > 1 px  coverage      ms")
for title, median_mm, bad_1px, coverage, ms in rows:
    print(f"{title:55} {median_mm:9.3f}  {bad_1px:12.1%}  {coverage:8.1%}  {ms:6.1f}")

figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
for title, median_mm, _, _, ms in rows:
    axis.plot(ms, median_mm, "o", markersize=10, label=title.split(",")[0])
axis.set(xlabel="ms, logarithmic", ylabel="median error, mm", xscale="log", ylim=(0, None))
axis.legend()
figure.savefig(folder / "comparison.png")
print(f"written to {folder}: comparison.png")
