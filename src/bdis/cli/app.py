"""The commands and their options; what they do is in the other files of this folder."""

import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from . import options, terminal
from .options import CalibRight, CalibScale, Debug, Json, Layout, Left, Out, Right, UnitOption

app = typer.Typer(
    name="bdis",
    help="Dense depth from a stereo endoscope, on one CPU core, with a probability for every pixel.",
    epilog="Start with: bdis demo",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
calib_app = typer.Typer(help="Look at calibration files.", rich_markup_mode=None)
app.add_typer(calib_app, name="calib")


def run(arguments: list[str]) -> int:
    """Run a command line; returns its exit code: 0 done, 1 bad data, 2 bad usage."""
    from . import video  # noqa: F401  # adds its commands to the app

    # Known from the start, so that even a command line that cannot be parsed is answered in the right way.
    terminal.mode = terminal.Mode("--json" in arguments, "--debug" in arguments)
    try:
        code = app(arguments or ["--help"], prog_name="bdis", standalone_mode=False)
        if code == 130:  # how newer versions of typer report an interruption
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except terminal.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "bdis"
        return _fail(f"{error.format_message()} ({where} --help)", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail(terminal.mode.interrupted, 130)
    except OSError as error:
        name = f"{error.filename}: " if error.filename is not None else ""
        return _fail(f"{name}{error.strerror or error}", 1)
    except Exception as error:
        return _fail(f"{error or type(error).__name__}", 1)


def _fail(message: str, code: int) -> int:
    if terminal.mode.debug:
        traceback.print_exc()
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    terminal.give({"error": message})
    return code


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        from .. import __version__

        print(f"bdis {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command(short_help="Render a scene, match it, compare with the truth.")
def demo(
    out: Out = Path("bdis-demo"),
    preset: options.Preset = "balanced",
    view: Annotated[bool, typer.Option("--view", help="Then watch it moving in the browser.")] = False,
    host: options.Host = "127.0.0.1",
    port: options.Port = 8080,
    browser: options.Browser = True,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Render wet tissue, match it, compare with its exact depth, write everything there is to write.

    \b
    bdis demo
    bdis demo -o somewhere --preset fast
    bdis demo --view
    """
    from .demo import run_demo, view_demo

    run_demo(out, preset)
    if view:
        view_demo(out, preset, host, port, browser)


@app.command(short_help="Disparity, depth in mm and a point cloud of a pair.")
def match(
    left: Left,
    right: Right = None,
    calib: options.Calib = None,
    focal: options.Focal = None,
    baseline: options.Baseline = None,
    cx: options.Cx = None,
    cy: options.Cy = None,
    preset: options.Preset = "balanced",
    set_: options.Set = None,
    mask: Annotated[
        Path | None, typer.Option(metavar="IMAGE", help="Left pixels to leave out are 0 in this image.")
    ] = None,
    mask_right: Annotated[Path | None, typer.Option(metavar="IMAGE", help="The same for the right image.")] = None,
    layout: Layout = None,
    rectify: options.Rectify = None,
    out: Out = Path("bdis-output"),
    format_: Annotated[
        list[str] | None,
        typer.Option(
            "--format", metavar="NAMES", help="Of tiff, pfm, npy, npz, png, ply, preview.  [default: tiff,ply,preview]"
        ),
    ] = None,
    max_depth: options.MaxDepth = None,
    calib_right: CalibRight = None,
    calib_scale: CalibScale = 1.0,
    unit: UnitOption = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Match a stereo pair: disparity, depth in mm, a coloured point cloud and a preview.

    \b
    bdis match left.png right.png --calib calibration.yaml
    bdis match left.png right.png --focal 695.9 --baseline 5.4 --max-depth 200 -o result
    bdis match frame.png --layout side-by-side --calib endoscope_calibration.yaml
    bdis match left.png right.png --preset fast --set min_probability=0.2 --format pfm,png
    bdis match left.png right.png --calib K.txt --json > result.json

    Images from raw cameras are rectified first if the calibration holds what that takes.  Without calibration
    there is a disparity and no depth.  Exit code 1: something is wrong with a file; 2: with the command line.
    """
    from .inputs import Camera, Pair
    from .match import run_match

    camera = Camera(calib, calib_right, unit, calib_scale, rectify, focal, baseline, cx, cy)
    run_match(Pair(left, right, layout, mask, mask_right), camera, preset, set_ or [], format_, max_depth, out)


@app.command(short_help="Methods side by side on data sets: tables and a report.")
def bench(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATASET...", help="Folders, KIND:FOLDER, or render:SCENE,frames=4,smoke=0.3"),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Joined by commas; see --list.  [default: all that can run here]"),
    ] = None,
    out: Out = Path("bdis-bench"),
    list_: Annotated[bool, typer.Option("--list", help="List the methods and what they need.")] = False,
    paper: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Rerun the paper's tables on the authors' set in PATH.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="authors, serv-ct, scared, hamlyn, middlebury, kitti, rendered or folder, if not recognised."
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Of the data set: decoding=published, baseline_mm=5.3, sets=30+31 ..."),
    ] = None,
    frames: Annotated[
        int | None, typer.Option(metavar="N", help="At most so many of each group, evenly spread.")
    ] = None,
    rounds: Annotated[int, typer.Option(metavar="N", help="Times each timed frame is matched; 0 = no times.")] = 5,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Frames at a time, but not while timing.  [default: all processors]")
    ] = None,
    occluded: Annotated[
        bool, typer.Option("--occluded", help="Also score pixels that the right camera does not see.")
    ] = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Compare methods on data sets: a table, summary.csv, frames.csv, results.json and report.html.

    \b
    bdis bench --list
    bdis bench render:colon render:instruments --methods bdis,sgbm -o colon
    bdis bench /data/SERV-CT --methods bdis,bdis-paper,elas -o serv-ct
    bdis bench hamlyn:/data/rectified01 --option baseline_mm=5.3 --frames 50
    bdis bench --paper /data/bdis-v2 -o paper

    An interrupted run goes on where it stopped when the same command is given again.
    """
    from .bench import Request, run_bench, run_list

    if list_:
        return run_list()
    run_bench(Request(datasets or [], methods or [], out, kind, option or [], frames, rounds, jobs, occluded, paper))


@app.command(short_help="Scenes with exact depth, into a folder.")
def render(
    scene: Annotated[str, typer.Argument(metavar="SCENE", help="tissue, colon, instruments, plane or sphere.")],
    out: Out = Path("bdis-rendered"),
    frames: Annotated[int, typer.Option(metavar="N", help="How many, along the path of the cameras.")] = 1,
    size: Annotated[str, typer.Option(metavar="WxH")] = "640x480",
    seed: Annotated[int, typer.Option(help="Another shape and another paint.")] = 0,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Option of the scene; may be repeated.")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Render stereo pairs with exact depth, disparity and occlusion; bdis bench reads the folder.

    \b
    bdis render colon -o colon --frames 20
    bdis render instruments -o smoke --set smoke=0.4 --set lighting=headlight --size 1280x1024

    Written: scene.json, rig.toml, left/ and right/ (8-bit PNG), depth/ (float32 TIFF, mm), disparity/ (float32
    TIFF, px), occluded/ (PNG, 255 where the right camera does not see the point).
    """
    from .render import run_render

    run_render(scene, out, frames, size, seed, set_ or [])


@app.command(short_help="Make a raw pair parallel.")
def rectify(
    left: Left,
    right: Right = None,
    calib: Annotated[Path, typer.Option(metavar="FILE", help="Calibration of the raw cameras.")] = ...,  # type: ignore[assignment]
    layout: Layout = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="0..1", help="0: nothing unseen in the picture, 1: keep all that was seen.")
    ] = None,
    out: Out = Path("bdis-rectified"),
    calib_right: CalibRight = None,
    calib_scale: CalibScale = 1.0,
    unit: UnitOption = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Rectify a raw pair: left.png, right.png and their rig.toml.

    \b
    bdis rectify Left_Image.png Right_Image.png --calib endoscope_calibration.yaml -o rectified
    bdis match rectified/left.png rectified/right.png --calib rectified/rig.toml
    """
    from .inputs import Camera, Pair
    from .rectify import run_rectify

    run_rectify(Pair(left, right, layout), Camera(calib, calib_right, unit, calib_scale, True), alpha, out)


@calib_app.callback()
def _calib() -> None:
    """Look at calibration files."""


@calib_app.command("show")
def calib_show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Calibration file; of a ROS pair the left one.")],
    calib_right: CalibRight = None,
    unit: UnitOption = None,
    baseline: Annotated[float | None, typer.Option(metavar="MM", help="If the file lacks it.")] = None,
    size: Annotated[str | None, typer.Option(metavar="WxH", help="Size of the images, if the file lacks it.")] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """What a calibration file is: format, field of view, depth resolution at 50, 100 and 200 mm.

    \b
    bdis calib show endoscope_calibration.yaml
    bdis calib show calib.txt --json
    bdis calib show intrinsics.txt --baseline 5.4 --size 640x480
    """
    from .calib import run_calib_show

    run_calib_show(file, calib_right, unit, baseline, size)


@app.command(short_help="The presets and their settings.")
def presets(
    name: Annotated[
        str | None, typer.Argument(help="Show all settings of this one.", autocompletion=options.presets)
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """The presets and their settings.

    \b
    bdis presets
    bdis presets paper
    """
    from .presets import run_presets

    run_presets(name)


@app.command(short_help="Versions, processor, cache and a self-test.")
def doctor(json: Json = False, debug: Debug = False) -> None:
    """Is everything all right: versions, processor, compile cache, and a self-test of two seconds.

    \b
    bdis doctor
    bdis doctor --json
    """
    from .doctor import run_doctor

    if not run_doctor():
        raise typer.Exit(1)


@app.command(short_help="Compile all kernels now, once per machine.")
def warmup(json: Json = False, debug: Debug = False) -> None:
    """Compile all kernels now, once per machine, so that no first frame has to wait.

    \b
    bdis warmup
    """
    from .doctor import run_warmup

    run_warmup()
