"""``python -m benchmarks [--quick] [--sections NAMES] [--json FILE] [--markdown FILE]``: measure, print, save."""

import argparse
import json
from pathlib import Path

from bdis.common.machine import machine

from . import (
    accuracy,
    bags,
    beyond,
    live_outputs,
    others,
    real,
    report,
    resources,
    speed,
    streaming,
    tables,
    uncertainty,
)
from .data import frame_sets

SECTIONS = {
    "steady": lambda sets, rounds: speed.steady(sets, rounds),
    "accuracy": lambda sets, rounds: accuracy.accuracy(sets),
    "real": lambda sets, rounds: real.real(),
    "ablation": lambda sets, rounds: accuracy.ablation(sets),
    "steps": lambda sets, rounds: beyond.steps(sets, rounds),
    "honesty": lambda sets, rounds: uncertainty.honesty(sets),
    "uncertainty": lambda sets, rounds: uncertainty.variants(sets),
    "lenses": lambda sets, rounds: uncertainty.lenses(sets["rendered"]),
    "assessed": lambda sets, rounds: others.assessed(sets),
    "combined": lambda sets, rounds: others.combined(sets),
    "common": lambda sets, rounds: others.common(),
    "edges": lambda sets, rounds: beyond.edges(),
    "video": lambda sets, rounds: beyond.video(),
    "streaming": lambda sets, rounds: streaming.streaming(rounds),
    "bags": lambda sets, rounds: bags.bags(rounds),
    "live": lambda sets, rounds: live_outputs.live(rounds),
    "start": lambda sets, rounds: resources.start(),
    "sizes": lambda sets, rounds: speed.sizes(rounds),
    "memory": lambda sets, rounds: resources.memory(),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a few minutes instead of ten")
    parser.add_argument("--sections", help=f"measure only these, joined by commas: {', '.join(SECTIONS)}")
    parser.add_argument("--json", type=Path, default=Path("benchmark-results/benchmark.json"), help="where to save")
    parser.add_argument("--markdown", type=Path, help="also write all tables to this file, as in BENCHMARK.md")
    options = parser.parse_args()
    sections = options.sections.split(",") if options.sections else list(SECTIONS)
    if unknown := [name for name in sections if name not in SECTIONS]:
        parser.error(f"unknown section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    if options.markdown and options.sections:
        parser.error("--markdown needs all sections: leave out --sections")
    rounds = 3 if options.quick else 15

    print("rendering and reading the pairs ...", flush=True)
    sets = frame_sets()
    results = {"machine": machine(), "sets": {name: len(frames) for name, frames in sets.items()}}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    for name in sections:
        print(f"measuring: {name} ...", flush=True)
        results[name] = SECTIONS[name](sets, rounds)
        options.json.write_text(json.dumps(results, indent=1) + "\n")  # at once: a later section may fail
        print(tables.table(name, results[name]), flush=True)
    print(f"saved {options.json}")
    if options.markdown:
        options.markdown.write_text(report.page(results))
        plot = options.markdown.parent / "docs" / "reliability.png"
        plot.parent.mkdir(exist_ok=True)
        uncertainty.reliability_plot({**real.real_sets(), **sets}, plot)
        print(f"saved {options.markdown} and {plot}")


if __name__ == "__main__":
    main()
