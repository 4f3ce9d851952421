"""SCARED: in-vivo keyframes with structured light, 1280x1024, raw; rectified when they are read.

The reference is depth of the raw left camera: its points are rotated like the camera and assigned to their nearest
rectified pixel.
"""

import tarfile
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...cameras.calibration import StereoCalibration
from ...cameras.formats import is_plausible_baseline
from ...cameras.formats.matrices import matrix_of
from ...cameras.rectifier import Rectifier
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...common.atomic import Place
from ...common.reading import MAX_IMAGE_BYTES, parse_json
from ...files.images import decode_image, read_image
from .forward_video import ForwardVideo
from .frame import Dataset, Entry, Frame, WrongFolder, as_number, in_order, round_up

LOOKED_FOR = (
    "dataset_N/keyframe_M/{Left_Image.png, Right_Image.png, endoscope_calibration.yaml, left_depth_map.tiff}, "
    "for sequences also data/{rgb.mp4, frame_data.tar.gz, scene_points.tar.gz}"
)
EXCLUDED = "D4+D5+D1K4"  # bad calibration; the paper excludes them as well
MIN_REFERENCE = 0.1  # a frame with less reference is not scored, as in the challenge
NEAREST_MM = 30.0


def find(folder: Path) -> dict[str, Path]:
    """Keyframes by name, D1K1 and so on; the folder may hold data sets, be one of them, or be a keyframe."""
    here = folder.resolve()
    if (folder / "Left_Image.png").is_file():
        return {_keyframe_name(here): folder}
    if here.name.startswith("dataset_"):
        found = in_order(path.parent for path in folder.glob("keyframe_*/Left_Image.png"))
    else:
        found = in_order(path.parent for path in folder.glob("dataset_*/keyframe_*/Left_Image.png"))
        parents = in_order({path.parent for path in found})
        found.sort(key=lambda path: parents.index(path.parent))
    return {_keyframe_name(path.resolve()): path for path in found}


def detect(folder: Path) -> bool:
    """Whether a folder has this layout."""
    return bool(find(folder))


def load(
    folder: Path,
    *,
    frames: Literal["keyframes", "sequences"] = "keyframes",
    exclude: str = EXCLUDED,
    every: int = 1,
) -> Dataset:
    """Open SCARED.

    Parameters
    ----------
    folder : Path
        See :func:`find`.
    frames : {"keyframes", "sequences"}
        The keyframes, or the sequences recorded from them, whose reference drifts with time.
    exclude : str
        Data sets and keyframes to leave out, joined by +; "none" to leave out nothing.
    every : int
        Take every n-th frame of a sequence.

    Returns
    -------
    Dataset
    """
    if frames not in ("keyframes", "sequences"):
        raise ValueError(f"frames must be 'keyframes' or 'sequences', but it is {frames!r}")
    found = find(folder)
    if not found:
        raise WrongFolder(f"{folder} is not SCARED: there is no {LOOKED_FOR}")
    left_out = exclude.split("+")
    kept = {name: path for name, path in found.items() if name not in left_out and name.split("K")[0] not in left_out}
    if not kept:
        raise WrongFolder(f"{folder} holds only {', '.join(found)}, which are left out (exclude is {exclude!r})")
    entries: list[Entry] = []
    for name, path in kept.items():
        if frames == "keyframes":
            entries.append(_keyframe(name, path))
        elif (path / "data" / "rgb.mp4").is_file():
            entries += _sequence(name, path, int(as_number("every", every)))
    if not entries:
        raise WrongFolder(f"{folder} has keyframes but no sequence; looked for {LOOKED_FOR}")
    return Dataset("SCARED", "scared", entries, forward_only=frames == "sequences")


def rectified_depth(points_mm: Array, rectifier: Rectifier) -> NDArray[np.float32]:
    """Depth of a rectified left image, from the points of the raw one.

    Parameters
    ----------
    points_mm : ndarray of float, shape (h, w, 3)
        X, Y, Z in the raw left camera; NaN or Z = 0 where unknown.
    rectifier : Rectifier
        The rectifier of these cameras.

    Returns
    -------
    ndarray of float32, shape (h, w)
        mm, NaN where unknown; of several points at a pixel the nearest.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.array([[50, 0, 20.0], [0, 50, 16], [0, 0, 1]])
    >>> cameras = StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(40, 32))
    >>> points = np.full((32, 40, 3), np.nan)
    >>> points[16, 20] = 0, 0, 80
    >>> depth = rectified_depth(points, cameras.rectify())
    >>> float(depth[16, 20]), int(np.isfinite(depth).sum())
    (80.0, 1)
    """
    rig: Rig = rectifier.rig
    width, height = rectifier.cameras.size
    points = np.asarray(points_mm, np.float64).reshape(-1, 3)
    points = points[np.isfinite(points).all(1) & (points[:, 2] > 0)] @ rectifier.left_rotation.T
    points = points[points[:, 2] > 0]
    points = points[np.argsort(-points[:, 2], kind="stable")]  # the nearest is written last
    with np.errstate(over="ignore"):  # a point beside the camera, far outside the image
        columns = np.rint(rig.focal_px * points[:, 0] / points[:, 2] + rig.cx)
        rows = np.rint(rig.focal_px * points[:, 1] / points[:, 2] + rig.cy)
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    depth = np.full((height, width), np.nan, np.float32)
    depth[rows[inside].astype(int), columns[inside].astype(int)] = points[inside, 2]
    return depth


def _keyframe_name(path: Path) -> str:
    return f"D{path.parent.name.rpartition('_')[2]}K{path.name.rpartition('_')[2]}"


def _frame(group: str, name: str, left: Array, right: Array, points: Array, rectifier: Rectifier) -> Frame:
    rectified_left, rectified_right = rectifier(left, right)
    depth = rectified_depth(points, rectifier)
    most = round_up(float(rectifier.rig.disparity(NEAREST_MM)))
    return Frame(
        group, name, rectified_left, rectified_right, rectifier.rig, depth,
        max_disparity_px=most, min_reference=MIN_REFERENCE,
    )  # fmt: skip


def _keyframe(name: str, path: Path) -> Entry:
    def read() -> Frame:
        left, right = (read_image(path / f"{side}_Image.png") for side in ("Left", "Right"))
        size = left.shape[1], left.shape[0]
        cameras = StereoCalibration.load(path / "endoscope_calibration.yaml", size=size)
        points = _checked_points(read_image(path / "left_depth_map.tiff"), left, path / "left_depth_map.tiff")
        return _frame("SCARED", name, left, right, points, cameras.rectify())

    return Entry("SCARED", name, read)


# --- Sequences --------------------------------------------------------------------------------------------------------


def _sequence(name: str, path: Path, every: int) -> list[Entry]:
    if every < 1:
        raise ValueError(f"every is {every}; expected 1 or more")
    group = f"SCARED {name} sequence"
    recording = _Recording(path, group)

    def entry(number: int) -> Entry:
        return Entry(group, f"{number:06d}", lambda: recording.frame(number))

    return [entry(number) for number in range(0, recording.count, every)]


class _Recording:
    """A video and its two archives, read forwards; going back means reading from the beginning."""

    def __init__(self, path: Path, group: str):
        self._path, self._group = path, group
        self._video = ForwardVideo(path / "data" / "rgb.mp4")
        self.count = self._video.count
        self._calibrations = _Archive(path / "data" / "frame_data.tar.gz")
        self._points = _Archive(path / "data" / "scene_points.tar.gz")
        self._last: tuple[bytes, Rectifier] | None = None

    def frame(self, number: int) -> Frame:
        """Read a frame."""
        left, right = np.split(self._video.image(number), 2)  # left on top
        file = f"scene_points{number:06d}.tiff"
        points = decode_image(self._points.read(file), f"{self._points.path}, {file}")[: len(left)]
        points = _checked_points(points, left, f"{self._points.path}, {file}")
        rectifier = self._rectifier(self._calibrations.read(f"frame_data{number:06d}.json"), left)
        return _frame(self._group, f"{number:06d}", left, right, points, rectifier)

    def _rectifier(self, content: bytes, left: Array) -> Rectifier:
        """The rectifier is computed again only when the calibration changes."""
        if self._last is None or self._last[0] != content:
            size = left.shape[1], left.shape[0]
            cameras = StereoCalibration.load(self._path / "endoscope_calibration.yaml", size=size)
            try:
                self._last = content, _cameras_of(content, cameras).rectify()
            except ValueError as error:
                raise ValueError(f"{self._calibrations.path}: {error}") from error
        return self._last[1]


def _cameras_of(content: bytes, usual: StereoCalibration) -> StereoCalibration:
    """The cameras that the JSON file of a frame describes; those of the keyframe if it describes none."""
    values = parse_json(content)
    found = values.get("camera-calibration") if isinstance(values, dict) else 0
    if found is None:
        return usual
    if not isinstance(found, dict) or not {"KL", "KR", "R", "T"} <= set(found):
        raise ValueError("a frame without KL, KR, R and T in its camera-calibration")
    matrices = {
        name: matrix_of(value, name) for name, value in found.items() if name in ("KL", "DL", "KR", "DR", "R", "T")
    }
    if not is_plausible_baseline(float(np.linalg.norm(matrices["T"]))):
        raise ValueError(f"T is {matrices['T'].ravel().tolist()}; expected the distance between two cameras in mm")
    return StereoCalibration(
        matrices["KL"], matrices.get("DL", usual.left_distortion), matrices["KR"],
        matrices.get("DR", usual.right_distortion), matrices["R"], matrices["T"], usual.size,
    )  # fmt: skip


def _checked_points(points: Array, left: Array, name: Place) -> Array:
    """``points``, or ValueError unless every pixel of the left image has three coordinates."""
    if points.shape != (*left.shape[:2], 3) or points.dtype.kind != "f":
        expected = (*left.shape[:2], 3)
        raise ValueError(f"{name} has shape {points.shape}, {points.dtype}; expected X, Y, Z as float32, {expected}")
    return points


class _Archive:
    """Files of a tar.gz archive, which can only be read forwards."""

    def __init__(self, path: Path):
        self.path = path
        self._members: Any = None

    def read(self, name: str) -> bytes:
        """The content of the file of this name, in any folder of the archive."""
        try:
            for _ in range(2):  # from the current position, then from the beginning
                content = self._read_onwards(name)
                if content is not None:
                    return content
        except (tarfile.TarError, EOFError, zlib.error) as error:
            self._members = None
            raise ValueError(f"{self.path} is damaged or cut short: {error}") from error
        raise ValueError(f"{self.path} has no {name}")

    def _read_onwards(self, name: str) -> bytes | None:
        if self._members is None:
            try:
                self._open_file = tarfile.open(self.path, "r|gz")  # noqa: SIM115  # kept open between frames
            except TypeError as error:  # of tarfile itself, which expects more bytes
                raise EOFError("the header ends early") from error
            self._members = iter(self._open_file)
        for member in self._members:
            # Its content (with holes that it may have), or what it takes in the archive up to the next header: tarfile
            # would skip that block by block, also what lies beyond the end.
            length = max(member.size, self._open_file.offset - member.offset)
            if length > MAX_IMAGE_BYTES:
                self._members = None
                raise ValueError(f"{self.path}: a file in it has {length} bytes; at most {MAX_IMAGE_BYTES} are read")
            if member.isfile() and Path(member.name).name == name:
                file = self._open_file.extractfile(member)
                assert file is not None
                return file.read()
        self._open_file.close()
        self._members = None
        return None
