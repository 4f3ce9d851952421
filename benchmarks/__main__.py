"""``python -m benchmarks [--quick] [--json FILE] [--markdown FILE]``: measure, print, save."""

import argparse
import json
from pathlib import Path

from . import beyond, measure, report, streaming
from .data import frame_sets


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a few minutes instead of ten")
    parser.add_argument("--json", type=Path, default=Path("benchmark-results/benchmark.json"), help="where to save")
    parser.add_argument("--markdown", type=Path, help="also write the tables there, as BENCHMARK.md has them")
    options = parser.parse_args()
    rounds = 3 if options.quick else 15

    print("rendering and reading the pairs ...", flush=True)
    sets = frame_sets()
    results = {"machine": measure.machine(), "sets": {name: len(frames) for name, frames in sets.items()}}
    for title, step in (
        ("steady", lambda: measure.steady(sets, rounds)),
        ("accuracy", lambda: measure.accuracy(sets)),
        ("ablation", lambda: measure.ablation(sets)),
        ("steps", lambda: beyond.steps(sets, rounds)),
        ("uncertainty", lambda: beyond.uncertainty(sets)),
        ("edges", beyond.edges),
        ("video", beyond.video),
        ("streaming", lambda: streaming.streaming(rounds)),
        ("start", measure.start),
        ("sizes", lambda: measure.sizes(rounds)),
        ("memory", measure.memory),
    ):
        print(f"measuring: {title} ...", flush=True)
        results[title] = step()
        print(report.table(title, results[title]), flush=True)

    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(results, indent=1) + "\n")
    print(f"saved {options.json}")
    if options.markdown:
        options.markdown.write_text(report.page(results))
        plot = options.markdown.parent / "docs" / "reliability.png"
        plot.parent.mkdir(exist_ok=True)
        beyond.reliability_plot(sets, plot)
        print(f"saved {options.markdown} and {plot}")


if __name__ == "__main__":
    main()
