"""The measurements as Markdown tables."""

from collections.abc import Callable


def _rows(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _steady(found: dict) -> str:
    rows = [
        [
            name,
            f"{m['median_ms']:.2f}",
            f"{m['min_ms']:.2f}",
            f"{m['p5_ms']:.2f} - {m['p95_ms']:.2f}",
            f"{1000 / m['median_ms']:.0f}",
            f"{m['times_faster_than_sgbm']:.1f}x",
            f"{m['times_faster_than_dis_ultrafast']:.1f}x",
            f"{m['time_of_paper']:.2f}",
        ]
        for name, m in found["methods"].items()
    ]
    header = ["method", "median ms", "min ms", "5 - 95 % ms", "Hz", "faster than SGBM", "faster than DIS ultrafast",
              "time / that of `paper`"]  # fmt: skip
    return _rows(header, rows)


def _scores(found: dict) -> str:
    sets = list(next(iter(found.values())))
    header = ["method", *(f"{s}: mean / median mm / valid k-px / bad 1 px" for s in sets)]
    return _rows(header, [[name, *(_one_score(scores[key]) for key in sets)] for name, scores in found.items()])


def _real_score(f: dict) -> str:
    return f"{f['epe_px']:.3f} / {f['bad_1px']:.1%} / {f['coverage']:.1%}".replace("%", " %")


def _real(found: dict) -> str:
    def equal(f: dict) -> str:
        both = (f"{e['epe_px']:.3f} / {e['bad_1px']:.1%}".replace("%", " %") for e in f.get("equal", {}).values())
        return "; ".join(both) or "-"

    sets = list(dict.fromkeys(name for row in found.values() for name in row))
    header = ["method", *(part for name in sets for part in (name, "`balanced`; `accurate` at its coverage"))]
    rows = [
        [name, *(part for s in sets for part in (_real_score(row[s]), equal(row[s])))] for name, row in found.items()
    ]
    return _rows(header, rows)


def _start(found: dict) -> str:
    rows = (
        ("`import bdis`", "import_s", 3),
        ("import and first match, nothing compiled yet (once per machine)", "cold_first_match_s", 1),
        ("import and first match, kernels in the cache: median", "warm_first_match_s", 2),
        ("import and first match, kernels in the cache: minimum", "warm_first_match_min_s", 2),
    )
    return _rows(
        ["new process", *(f"`{preset}`, s" for preset in found)],
        [[words, *(f"{times[key]:.{digits}f}" for times in found.values())] for words, key, digits in rows],
    )


def _one_score(s: dict) -> str:
    return f"{s['mean_mm']:.3f} / {s['median_mm']:.4f} / {s['valid'] / 1e3:.1f} / {s['bad_1px'] * 100:.1f} %"


def _steps(found: dict) -> str:
    first = next(iter(found.values()))
    sets, real_sets = list(first["scores"]), list(first["real"])
    header = [
        "settings", "time / that of `paper`", *(f"{name}: error px / bad 1 px / coverage" for name in real_sets),
        *(f"{name}: mean / median mm / valid k-px / bad 1 px" for name in sets),
    ]  # fmt: skip
    rows = [
        [
            name,
            f"{m['times_paper']:.2f}",
            *(_real_score(m["real"][key]) for key in real_sets),
            *(_one_score(m["scores"][key]) for key in sets),
        ]
        for name, m in found.items()
    ]
    return _rows(header, rows)


INSIDE = "inside 68 %", "inside 95 %", "worst and best frame", "95 %: mean +- px"


def _inside(m: dict) -> list[str]:
    """Cells of the columns INSIDE."""
    return [
        f"{m['within_68']:.1%}",
        f"{m['within_95']:.1%}",
        f"{m['lowest_within_95']:.1%} - {m['highest_within_95']:.1%}",
        f"{m['interval_95_px']:.2f}",
    ]


def _lenses(found: dict) -> str:
    rows = [[sigma_px, name, *_inside(m)] for sigma_px, kinds in found.items() for name, m in kinds.items()]
    return _rows(["lens off by, px rms", "rows", *INSIDE], rows)


def _uncertainty(found: dict) -> str:
    header = [
        "settings", "set", *INSIDE, "log score", "AUSE", "probability off by: set; frames", "coverage",
    ]  # fmt: skip
    rows = [
        [
            name,
            set_name,
            *_inside(m),
            f"{m['log_score']:.2f}",
            f"{m['ause']:.4f} {m['ause_unit']}",
            f"{m['reliability_error_of_set']:.3f}; {m['reliability_error']:.3f}",
            f"{m['coverage']:.1%}",
        ]
        for name, sets in found.items()
        for set_name, m in sets.items()
    ]
    return _rows(header, rows)


def _assessed(found: dict) -> str:
    header = [
        "method", "set", "AUSE / with a constant confidence", "inside 95 %", "error of the surest 80 %",
        "of 80 % by its left-right check", "by its uniqueness; ours at that coverage",
    ]  # fmt: skip
    rows = []
    for name, sets in found.items():
        for set_name, m in sets.items():
            if not m:
                continue
            unique = f"{m['error_unique']:.3f}; {m['error_as_unique']:.3f}" if "error_unique" in m else "-"
            rows.append([
                name, set_name, f"{m['ause'] / m['ause_constant']:.2f}", f"{m['within_95']:.1%}", f"{m['error']:.3f}",
                f"{m['error_left_right']:.3f}", unique,
            ])  # fmt: skip
    return _rows(header, rows)


def _combined(found: dict) -> str:
    sets = list(next(iter(found.values())))
    return _rows(["combined", *sets], [[name, *(f"{row[key]:.3f}" for key in sets)] for name, row in found.items()])


def _common(found: dict) -> str:
    fixed = "smooth_px", "within_95", "within_95_without"
    methods = [key for key in next(iter(found.values()), {}) if key not in fixed]
    header = ["pair", "smooth part, rms px", *(f"correlation: {name}" for name in methods), "inside 95 %", "without it"]
    rows = [
        [
            name,
            f"{m['smooth_px']:.2f}",
            *(f"{m[key]:.2f}" for key in methods),
            f"{m['within_95']:.1%}",
            f"{m['within_95_without']:.1%}",
        ]
        for name, m in found.items()
    ]
    return _rows(header, rows)


def _edges(found: dict) -> str:
    header = ["method", "pixels within 10 px of an edge", "predicted", "off by more than 1 px"]
    return _rows(header, [[n, f"{m['zone']}", f"{m['predicted']}", f"{m['bad']}"] for n, m in found.items()])


def _video(found: dict) -> str:
    header = [
        "scene", "time / that of a fresh start", "flicker px: fresh, video", "median error px: fresh, video",
        "mean error px: fresh, video", "coverage: fresh, video",
    ]  # fmt: skip
    rows = [
        [
            name,
            f"{m['time_of_fresh']:.2f}",
            *(f"{m['fresh_' + k]:.4f}, {m['video_' + k]:.4f}" for k in ("flicker_px", "median_px", "mean_px")),
            f"{m['fresh_coverage']:.1%}, {m['video_coverage']:.1%}",
        ]
        for name, m in found.items()
    ]
    return _rows(header, rows)


def _streaming(found: dict) -> str:
    def shown(m: dict) -> str:
        latency = m["latency_p50_ms"]
        waited = "" if latency != latency else f" ({latency:.1f}, {m['latency_p95_ms']:.1f})"
        return f"{m['fps']:.0f}{waited}"

    header = ["", *(f"{size} of each view" for size in found)]
    names = list(next(iter(found.values())))
    return _rows(header, [[name, *(shown(size[name]) for size in found.values())] for name in names])


def _bags(found: dict) -> str:
    names = list(next(iter(found.values())))
    return _rows(["", *found], [[name, *(f"{size[name]:.0f}" for size in found.values())] for name in names])


def _live(found: dict) -> str:
    rows = [
        [
            name, f"{m['fps']:.0f}", f"{m['match_ms']:.1f}",
            *((f"{m['received']:.0%}", f"{m['latency_ms']:.1f}") if m["received"] else ("", "")),
        ]
        for name, m in found.items()
    ]  # fmt: skip
    return _rows(["", "frames/s", "ms to match, at 25 frames/s", "received", "latency, ms"], rows)


def _sizes(found: dict) -> str:
    rows = [
        [
            size,
            f"{m['median_ms']:.2f}",
            f"{m['min_ms']:.2f}",
            f"{m['ns_per_pixel']:.2f}",
            f"{m['ns_per_pixel_min']:.2f}",
            f"{m['two_threads_speedup']:.2f}x",
            f"{m['two_threads_speedup_of_minima']:.2f}x",
        ]
        for size, m in found.items()
    ]
    header = [
        "preset and size", "median ms", "min ms", "ns per pixel (median)", "(minimum)",
        "two threads: median speed-up", "of the minima",
    ]  # fmt: skip
    return _rows(header, rows)


def _memory(found: dict) -> str:
    rows = [
        [kind, f"{m['first_frame_bytes_per_pixel']:.1f}", f"{m['later_frames_bytes']}"] for kind, m in found.items()
    ]
    return _rows(
        ["preset and input", "workspace, bytes per pixel", "allocated by a later frame beside the result, bytes"], rows
    )


_TABLES: dict[str, Callable[[dict], str]] = {
    "steady": _steady,
    "accuracy": _scores,
    "ablation": _scores,
    "steps": _steps,
    "honesty": _uncertainty,
    "uncertainty": _uncertainty,
    "lenses": _lenses,
    "assessed": _assessed,
    "combined": _combined,
    "common": _common,
    "edges": _edges,
    "video": _video,
    "streaming": _streaming,
    "bags": _bags,
    "live": _live,
    "start": _start,
    "sizes": _sizes,
    "memory": _memory,
    "real": _real,
}


def table(title: str, found: dict) -> str:
    """One section as a Markdown table."""
    return _TABLES[title](found)
