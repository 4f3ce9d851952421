"""The measurements as Markdown tables, and all of BENCHMARK.md."""

from collections.abc import Callable

from .limits import LIMITS
from .methods import others

COMMAND = "python -m benchmarks --markdown BENCHMARK.md"


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


def _uncertainty(found: dict) -> str:
    header = [
        "settings", "set", "inside 68 %", "inside 95 %", "worst and best frame", "95 %: mean +- px", "log score",
        "AUSE", "probability off by", "coverage",
    ]  # fmt: skip
    rows = [
        [
            name,
            set_name,
            f"{m['within_68']:.1%}",
            f"{m['within_95']:.1%}",
            f"{m['lowest_within_95']:.1%} - {m['highest_within_95']:.1%}",
            f"{m['interval_95_px']:.2f}",
            f"{m['log_score']:.2f}",
            f"{m['ause']:.4f} {m['ause_unit']}",
            f"{m['reliability_error']:.3f}",
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


def _set_ups() -> str:
    """The settings of the other methods, which their names in the tables are too short for."""
    return "\n".join(f"- {method.describe()}: {method.details}." for method in others())


_TABLES: dict[str, Callable[[dict], str]] = {
    "steady": _steady,
    "accuracy": _scores,
    "ablation": _scores,
    "steps": _steps,
    "honesty": _uncertainty,
    "uncertainty": _uncertainty,
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


def page(results: dict) -> str:
    """All of BENCHMARK.md."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    steady = results["steady"]
    return f"""# Benchmark

    {COMMAND}

{machine}.

All tables are written by this one command. To cancel the noise of a shared machine, methods take turns on each frame,
in one process with one thread each, and a ratio is the median of the ratios of neighbouring measurements.

The other methods are those of `bdis bench`, set up as follows, and are told the largest disparity of each frame; bdis
is not.

{_set_ups()}

## Speed, steady state

{steady["size"]}, grey, {steady["frames"]} frames of {", ".join(steady["sets"])}, {steady["rounds"]} rounds.

{_steady(steady)}

OpenCV's times are those of its own call on grey images, without the conversions that bdis adds to it. SGBM and BM leave
a margin as wide as the range of disparities unknown at the left; padding the images, as for the accuracy below, makes
them match it too, which costs SGBM twice the time. "Faster than SGBM" compares with the fastest set-up that is in use:
128 disparities (these frames hold larger ones) and no padding.

## Accuracy and coverage

Per-frame values averaged as the paper does; exact reference depth; sets 30 and 31 are the authors' virtual colon
(diffuse light; headlight with a dark rim), "rendered" are 18 scenes of `bdis.synthetic`.

{_scores(results["accuracy"])}

ELAS here is written from its paper. For comparison, the authors' C++ on these frames: with the paper's settings
0.169 / 0.054 / 169.0 (set 30) and 0.195 / 0.083 / 161.8 (set 31); with their own settings for this set
0.181 / 0.050 / 181.0 and 0.161 / 0.077 / 173.4. The public ELAS: 0.378 / 0.080 / 142.7 and 0.154 / 0.084 / 83.3.

## Real pairs

Visible pixels of two pairs of real endoscopes (tissue; the reference has 0.3 px of its own error), of three Middlebury
pairs and of one Scene Flow pair: mean error px / share off by more than 1 px / coverage; behind it `balanced` and
`accurate` cut to the coverage of that method by their own variance. The constants of labels, detail and refinement were
chosen with these six pairs and sets 30 and 31 in view: figures on other pairs are what counts. The column "other" has
two Middlebury pairs that came late, Cones and Aloe at half its size (reference in half px): labels, detail and
refinement were chosen without them, the second search and the scale of the error model with them in view. Debian's
opencv-doc and the source package of pandora contain them, and `BDIS_REAL_PAIRS` is the folder of all these sets.

{_real(results["real"])}

## The paper's parts

`paper` with one thing changed; how its text is read: [docs/paper.md](docs/paper.md). Presets that start at 0 do not
reach the 200 px of one rendered scene. A frame without any scored pixel is left out of the means; the authors' own
settings know a few pixels of that scene, all wrong.

{_scores(results["ablation"])}

## Beyond the paper: each step and its cost

`balanced` with one setting changed, and `accurate`; time as a multiple of that of preset `paper`, taking turns.

{_steps(results["steps"])}

## Uncertainty

With `variance=True` the error of each pixel has one law, Student's t with three degrees of freedom and that variance,
from which the intervals come. The columns are averages over the frames of a set:

- the shares of the errors inside the intervals that shall hold 68 % and 95 % of them, the same for disparity and depth;
  the share for 95 % also of the frames where it is lowest and highest;
- the mean half width of the interval of 95 %: narrow is good if the interval holds what it shall;
- the log score, the mean negative log density of the disparity errors under the law (nats, density per px), the area
  under the sparsification error curve (AUSE), and the mean distance of the probability from the share of pixels within
  1 px: small is good.

The reference of real tissue has about 0.3 px of its own error, and that of one Middlebury pair (Tsukuba) is in whole
px, off by 0.29 px: a second row allows for it, with its variance added to that of the result. The weights of the error
model at full resolution were fitted to these real pairs, sets 30 and 31 and rendered scenes together, so that the table
shows how well one law fits all of them: whether it is honest on other pairs, only other pairs can tell.

{_uncertainty(results["honesty"])}

Other settings on the pairs with exact depth. The paper's variance is no variance of that law. `paper` and `fast` give
the paper's posterior as probability unless a variance is asked for.

{_uncertainty(results["uncertainty"])}

![Reliability of probability and variance](docs/reliability.png)

## Other matchers, assessed and combined

`bdis.assess` gives a law of error to the disparities of other matchers. Errors are means over the frames of a set, in
px on real pairs, in mm on the others. Of the pixels that a method knows 80 % are kept: the surest by that law; those
where the disparities of both images are closest to each other, as the method finds them itself; or those that a
stricter uniqueness leaves, at most 80 %, beside the surest by our law at the same coverage. The errors of the
references are allowed for in the intervals.

{_assessed(results["assessed"])}

`bdis.combine`: the error of the combined result as a multiple of that of the best single one, all cut, by their own
variances, to as many pixels of each frame as the one knows that knows the fewest.

{_combined(results["combined"])}

Different matchers make different errors; what they have in common comes from the reference or the cameras. The smooth
part of the error of `balanced` (Gaussian mean, 40 px wide), its correlation with that of others, and the share of its
errors inside the interval of 95 % with and without that part, the known errors of references allowed for:

{_common(results["common"])}

## Depth edges

Four rendered scenes with instruments in front of tissue; bdis is reduced, by its own variance, to the coverage of
OpenCV's SGBM on the whole image where its own is larger.

{_edges(results["edges"])}

## Video mode

`match(left, right, previous=result)` beside fresh starts. Flicker is the temporal standard deviation of the error; the
static scenes have new sensor noise (2 grey levels) in every frame.

{_video(results["video"])}

## From a file to depth

Frames per second from an H.264 file with both views side by side (rendered tissue, crf 12: 7 and 28 Mbit/s at 30
frames/s) to depth in mm (SGBM: to disparity), everything on one core, methods taking turns. In brackets the median and
95th percentile of the latency in ms from a decoded frame to its depth; most of it is waiting for the core.

{_streaming(results["streaming"])}

## From bag to bag

Frames per second on one core, bags of ROS beside videos: the same frames, read from a file and recorded to one. Bags
have disparity, depth and sigma (float32, not compressed), and in the last line of each preset the cloud; `depth.mkv`
has the depth in 16 bits.

{_bags(results["bags"])}

## Live outputs

`balanced` with its variance, 640x480, while OpenIGTLink or Foxglove gets depth, sigma, image and cloud; clients are
processes of their own on the same two cores. Frames/s if frames are matched one after the other; at 25 frames/s the
time to match one, how many frames the client got, and the time from when a frame was matched until its last byte was
there. `python -m pytest -s tests/torture/ros.py -k latency` measures ROS 1, from the stamp of an image to a listener
that has its depth.

{_live(results["live"])}

## Start-up

{_start(results["start"])}

## Image size and threads

{_sizes(results["sizes"])}

## Memory

{_memory(results["memory"])}

{LIMITS}"""
