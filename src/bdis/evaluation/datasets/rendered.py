"""Rendered scenes: written by ``bdis render``, or rendered when they are read (``render:colon``).

The folder:

    scene.json               what was rendered: scene, seed, frames, size, options, max_disparity_px
    rig.toml                 the cameras
    left/000000.png          8-bit RGB, a file per frame; right/ alike
    depth/000000.tiff        float32, mm, exact, everywhere
    disparity/000000.tiff    float32, px, exact, everywhere
    occluded/000000.png      255 where the right camera does not see the left pixel's point, else 0
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...cameras.rig import Rig
from ...common.assignments import read_values, split_assignments
from ...common.atomic import all_or_nothing, write_whole
from ...common.printable import printable
from ...common.reading import MAX_CALIBRATION_BYTES, load_json
from ...files.images import read_image, write_image
from ...files.maps import read_depth, read_disparity, write_depth, write_disparity
from ...synthetic import RenderedPair, RenderOptions, render
from ...synthetic.options import MAX_FRAMES
from .frame import Dataset, Entry, Frame, WrongFolder, as_number, round_up

LOOKED_FOR = 'scene.json with "format": "bdis-rendered", as bdis render writes it'
FORMAT = "bdis-rendered"


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    try:
        return _description(folder) is not None
    except ValueError:
        return False


def load(folder: Path) -> Dataset:
    """Open a folder that :func:`write_rendered` made."""
    found = _description(folder)
    if found is None:
        raise WrongFolder(f"{folder} is not a rendered scene: there is no {LOOKED_FOR}")
    rig = Rig.load(folder / "rig.toml")
    group = f"rendered {found['scene']}"

    def entry(number: int) -> Entry:
        name = f"{number:06d}"

        def read() -> Frame:
            left, right, occluded = (
                read_image(folder / side / f"{name}.png") for side in ("left", "right", "occluded")
            )
            depth = read_depth(folder / "depth" / f"{name}.tiff")
            disparity = read_disparity(folder / "disparity" / f"{name}.tiff")
            most = found["max_disparity_px"]
            return Frame(group, name, left, right, rig, depth, disparity, occluded > 0, max_disparity_px=most)

        return Entry(group, name, read)

    return Dataset(group, "rendered", [entry(number) for number in range(found["frames"])])


def write_rendered(
    folder: Path,
    scene: str,
    frames: int = 1,
    height: int = 480,
    width: int = 640,
    seed: int = 0,
    *,
    progress: Callable[[int], None] | None = None,
    **options: Any,
) -> None:
    """Render a sequence into a folder, in the layout above.

    Parameters
    ----------
    folder : Path
        Where to write; it must be empty or not exist.
    scene : str
        As in :func:`bdis.synthetic.render`, like ``height``, ``width``, ``seed`` and ``options``.
    frames : int
        Number of frames along the path of the cameras.
    progress : callable or None
        Called with the number of finished frames.

    Raises
    ------
    ValueError, TypeError
        Options the renderer refuses, or a folder that is not empty.
    OSError
        The folder cannot be written to; no incomplete folder is left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_rendered(Path(folder), "plane", frames=2, height=32, width=48)
    ...     [str(frame) for frame in load(Path(folder)).frames()]
    ['rendered plane/000000', 'rendered plane/000001']
    """
    check_frames(frames)
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty; a rendered scene gets a folder of its own")
    most = 0.0
    asked = dict(options)
    with all_or_nothing(folder) as stage:
        for name in ("left", "right", "depth", "disparity", "occluded"):
            (stage / name).mkdir()
        for number in range(frames):
            pair = render(scene, height, width, seed=seed, frame=number, **options)
            if number == 0:
                options = with_baseline(options, pair)
                rig_of(pair).save(stage / "rig.toml")
            most = max(most, float(pair.full_disparity.max()))
            file = f"{number:06d}"
            write_image(stage / "left" / f"{file}.png", pair.left)
            write_image(stage / "right" / f"{file}.png", pair.right)
            write_depth(stage / "depth" / f"{file}.tiff", pair.depth_mm)
            write_disparity(stage / "disparity" / f"{file}.tiff", pair.full_disparity)
            write_image(stage / "occluded" / f"{file}.png", np.where(pair.occluded, 255, 0).astype(np.uint8))
            if progress is not None:
                progress(number + 1)
        description = {
            "format": FORMAT, "scene": scene, "seed": seed, "frames": frames, "size": [width, height],
            "options": asked, "max_disparity_px": round_up(most + 1),
        }  # fmt: skip
        write_whole(stage / "scene.json", f"{json.dumps(description, indent=2)}\n".encode())


def on_the_fly(
    scene: str, *, frames: int = 4, height: int = 480, width: int = 640, seed: int = 0, **options: Any
) -> Dataset:
    """The frames that :func:`write_rendered` would write, rendered when they are read.

    Parameters
    ----------
    scene : str
        As in :func:`bdis.synthetic.render`, like ``height``, ``width``, ``seed`` and ``options``.
    frames : int
        Number of frames along the path of the cameras.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        An unknown scene or option, or a value that it cannot have.

    Examples
    --------
    >>> data = on_the_fly("sphere", frames=2, height=32, width=48)
    >>> len(data), next(data.frames()).left.shape
    (2, (32, 48, 3))
    """
    check_frames(frames)
    group = f"rendered {scene}"
    try:
        first = render(scene, height, width, seed=seed, **options)
    except TypeError as error:  # a value of the wrong kind, such as height=tall
        raise ValueError(str(error)) from error
    options = with_baseline(options, first)

    def entry(number: int) -> Entry:
        def read() -> Frame:
            return frame_of(render(scene, height, width, seed=seed, frame=number, **options), group, f"{number:06d}")

        return Entry(group, f"{number:06d}", read)

    return Dataset(group, "render", [entry(number) for number in range(frames)])


def parse_scene(text: str) -> tuple[str, dict[str, Any]]:
    """Parse ``SCENE,name=value,...``.

    Parameters
    ----------
    text : str
        What follows "render:".

    Returns
    -------
    scene : str
        Name of the scene.
    options : dict of str to object
        Its options, numbers as int or float.

    Examples
    --------
    >>> parse_scene("colon,frames=8,smoke=0.3")
    ('colon', {'frames': 8, 'smoke': 0.3})
    """
    scene, *words = text.split(",")
    return scene.strip(), read_values(split_assignments(words, "render:SCENE,..."), RenderOptions)


def with_baseline(options: dict[str, Any], first: RenderedPair) -> dict[str, Any]:
    """Replace a requested disparity by the baseline of the first frame, the same for the whole sequence."""
    if options.get("disparity_px") is None:
        return options
    return {**options, "disparity_px": None, "baseline_mm": first.baseline_mm}


def rig_of(pair: RenderedPair) -> Rig:
    """The cameras of a rendered pair."""
    height, width = pair.depth_mm.shape
    return Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm, size=(width, height))


def frame_of(pair: RenderedPair, group: str, name: str) -> Frame:
    """A rendered pair as a frame with exact depth, disparity and occlusion everywhere.

    Parameters
    ----------
    pair : RenderedPair
        What :func:`bdis.synthetic.render` returned.
    group, name : str
        Names of its group and of the frame.

    Returns
    -------
    Frame

    Examples
    --------
    >>> frame_of(render("plane", 32, 48, disparity_px=10), "rendered plane", "1").max_disparity_px
    16.0
    """
    return Frame(
        group, name, pair.left, pair.right, rig_of(pair), pair.depth_mm, pair.full_disparity, pair.occluded,
        max_disparity_px=round_up(float(pair.full_disparity.max()) + 1),
    )  # fmt: skip


def _description(folder: Path) -> dict[str, Any] | None:
    path = folder / "scene.json"
    if not path.is_file():
        return None
    found = load_json(path, MAX_CALIBRATION_BYTES)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    if missing := [name for name in ("scene", "frames", "max_disparity_px") if name not in found]:
        raise ValueError(f"{path} has no {', '.join(missing)}")
    try:
        check_frames(found["frames"])
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    found["max_disparity_px"] = as_number(f"{path}: max_disparity_px", found["max_disparity_px"])
    found["scene"] = printable(str(found["scene"]))
    return found


def check_frames(frames: Any) -> None:
    """Refuse a number of frames that is not a whole number from 1 to :data:`MAX_FRAMES`.

    Raises
    ------
    ValueError
    """
    if isinstance(frames, bool) or not isinstance(frames, int) or not 1 <= frames <= MAX_FRAMES:
        raise ValueError(f"frames is {frames!r}; expected 1 or more, a whole number of at most {MAX_FRAMES}")
