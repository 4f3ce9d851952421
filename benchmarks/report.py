"""All of BENCHMARK.md: the tables, and what is said of them."""

from .limits import LIMITS
from .methods import others
from .tables import table

COMMAND = "python -m benchmarks --markdown BENCHMARK.md"


def page(results: dict) -> str:
    """All of BENCHMARK.md."""
    machine = ", ".join(f"{key} {value}" for key, value in results["machine"].items())
    steady = results["steady"]

    def body(name: str) -> str:
        return table(name, results[name])

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

{body("steady")}

OpenCV's times are those of its own call on grey images, without the conversions that bdis adds to it. SGBM and BM leave
a margin as wide as the range of disparities unknown at the left; padding the images, as for the accuracy below, makes
them match it too, which costs SGBM twice the time. "Faster than SGBM" compares with the fastest set-up that is in use:
128 disparities (these frames hold larger ones) and no padding.

## Accuracy and coverage

Per-frame values averaged as the paper does; exact reference depth; sets 30 and 31 are the authors' virtual colon
(diffuse light; headlight with a dark rim), "rendered" are 18 scenes of `bdis.synthetic`.

{body("accuracy")}

ELAS here is written from its paper. For comparison, the authors' C++ on these frames: with the paper's settings
0.169 / 0.054 / 169.0 (set 30) and 0.195 / 0.083 / 161.8 (set 31); with their own settings for this set
0.181 / 0.050 / 181.0 and 0.161 / 0.077 / 173.4. The public ELAS: 0.378 / 0.080 / 142.7 and 0.154 / 0.084 / 83.3.

## Real pairs

Visible pixels of two pairs of real endoscopes (tissue; the reference has 0.3 px of its own error), of three Middlebury
pairs and of one Scene Flow pair: mean error px / share off by more than 1 px / coverage; behind it `balanced` and
`accurate` cut to the coverage of that method by their own variance. The constants of labels, detail and refinement were
chosen with these six pairs and sets 30 and 31 in view: figures on other pairs are what counts. The column "other" has
two Middlebury pairs that came late, Cones and Aloe at half its size (reference in half px; what only the left camera
sees follows from the references): labels, detail and refinement were chosen without them, the second search and the
scale of the error model with them in view. Debian's opencv-doc and the source package of pandora contain them, and
`BDIS_REAL_PAIRS` is the folder of all these sets.

{body("real")}

## The paper's parts

`paper` with one thing changed; how its text is read: [docs/paper.md](docs/paper.md). Presets that start at 0 do not
reach the 200 px of one rendered scene. A frame without any scored pixel is left out of the means; the authors' own
settings know a few pixels of that scene, all wrong.

{body("ablation")}

## Beyond the paper: each step and its cost

`balanced` with one setting changed, and `accurate`; time as a multiple of that of preset `paper`, taking turns.

{body("steps")}

## Uncertainty

With `variance=True` the error of each pixel has one law, Student's t with three degrees of freedom and that variance,
from which the intervals come. The columns are averages over the frames of a set:

- the shares of the errors inside the intervals that shall hold 68 % and 95 % of them, the same for disparity and depth;
  the share for 95 % also of the frames where it is lowest and highest;
- the mean half width of the interval of 95 %: narrow is good if the interval holds what it shall;
- the log score, the mean negative log density of the disparity errors under the law (nats, density per px), the area
  under the sparsification error curve (AUSE), and the mean distance of the probability from the share of pixels within
  1 px, of all pixels of a set together, as in `bdis bench`, and the mean over its frames: small is good.

The reference of real tissue has about 0.3 px of its own error, and that of one Middlebury pair (Tsukuba) is in whole
px, off by 0.29 px: a second row allows for it, with its variance added to that of the result. The weights of the error
model at full resolution were fitted to these real pairs, sets 30 and 31 and rendered scenes together, so that the table
shows how well one law fits all of them: whether it is honest on other pairs, only other pairs can tell. Fitted without
one real pair at a time (Cones and Aloe among them), before how uneven rows are was measured twice and with the weights
of that time, 89.1 to 98.7 % of the errors of the one left out lay inside 95 %.

{body("honesty")}

Other settings on the pairs with exact depth, `paper` and `fast` on the real ones as well. The paper's variance is no
variance of that law. `paper` and `fast` give the paper's posterior as probability unless a variance is asked for.

{body("uncertainty")}

![Reliability of probability and variance](docs/reliability.png)

No calibration is exact. Here the right images of the rendered scenes are bent as by a lens that is off, smoothly, by so
much along columns and rows. The images do not show how far columns are off, but rows do, and the error model takes
columns to be off likewise. This was tried after its weights were chosen; "off" is `align_rows="off"`, which measures
nothing.

{body("lenses")}

## Other matchers, assessed and combined

`bdis.assess` gives a law of error to the disparities of other matchers. Errors are means over the frames of a set, in
px on real pairs, in mm on the others. Of the pixels that a method knows 80 % are kept: the surest by that law; those
where the disparities of both images are closest to each other, as the method finds them itself; or those that a
stricter uniqueness leaves, at most 80 %, beside the surest by our law at the same coverage. The errors of the
references are allowed for in the intervals.

{body("assessed")}

`bdis.combine`: the error of the combined result as a multiple of that of the best single one, all cut, by their own
variances, to as many pixels of each frame as the one knows that knows the fewest.

{body("combined")}

Different matchers make different errors; what they have in common comes from the reference or the cameras. The smooth
part of the error of `balanced` (Gaussian mean, 40 px wide), its correlation with that of others, and the share of its
errors inside the interval of 95 % with and without that part, the known errors of references allowed for:

{body("common")}

## Depth edges

Four rendered scenes with instruments in front of tissue; bdis is reduced, by its own variance, to the coverage of
OpenCV's SGBM on the whole image where its own is larger.

{body("edges")}

## Video mode

`match(left, right, previous=result)` beside fresh starts. Flicker is the temporal standard deviation of the error; the
static scenes have new sensor noise (2 grey levels) in every frame.

{body("video")}

## From a file to depth

Frames per second from an H.264 file with both views side by side (rendered tissue, crf 12: 7 and 28 Mbit/s at 30
frames/s) to depth in mm (SGBM: to disparity), everything on one core, methods taking turns. In brackets the median and
95th percentile of the latency in ms from a decoded frame to its depth; most of it is waiting for the core.

{body("streaming")}

## From bag to bag

Frames per second on one core, bags of ROS beside videos: the same frames, read from a file and recorded to one. Bags
have disparity, depth and sigma (float32, not compressed), and in the last line of each preset the cloud; `depth.mkv`
has the depth in 16 bits.

{body("bags")}

## Live outputs

`balanced` with its variance, 640x480, while OpenIGTLink or Foxglove gets depth, sigma, image and cloud; clients are
processes of their own on the same two cores. Frames/s if frames are matched one after the other; at 25 frames/s the
time to match one, how many frames the client got, and the time from when a frame was matched until its last byte was
there. `python -m pytest -s tests/torture/ros.py -k latency` measures ROS 1, from the stamp of an image to a listener
that has its depth.

{body("live")}

## Start-up

{body("start")}

## Image size and threads

{body("sizes")}

## Memory

{body("memory")}

{LIMITS}"""


def _set_ups() -> str:
    """The settings of the other methods, which their names in the tables are too short for."""
    return "\n".join(f"- {method.describe()}: {method.details}." for method in others())
