"""Small pictures for the report, embedded in the page: depth, error and a view of the recovered surface."""

import base64

import numpy as np

from ...cameras.rgb import as_rgb_bytes
from ...cameras.rig import Rig
from ...common.arrays import Array
from ...common.optional import require
from ...display.colors import MARK_COLOR, UNKNOWN_ON_LIGHT

WIDTH = 420  # px of a picture in the page
BACKGROUND = (0x24, 0x2A, 0x31)
YAW, PITCH = np.radians(24.0), np.radians(-14.0)  # of the view of the surface


def photograph(image: Array) -> str:
    """An image, unchanged but for its size, as the address of an ``img`` element."""
    return _address(_resized(as_rgb_bytes(image)))


def colored(values: Array, low: float, high: float, colormap: str, outlined: Array | None = None) -> str:
    """A map in the colours of a Matplotlib colour map, grey where unknown, as the address of an ``img`` element.

    Parameters
    ----------
    values : ndarray, shape (h, w)
        NaN where unknown.
    low, high : float
        Values of the first and the last colour.
    colormap : str
        Name in Matplotlib.
    outlined : ndarray of bool, shape (h, w), optional
        Regions whose border is drawn.

    Returns
    -------
    str
    """
    table = require("matplotlib", "a report").colormaps[colormap]
    known = np.isfinite(values)
    share = np.clip((np.where(known, values, low) - low) / max(high - low, 1e-9), 0, 1)
    shown = (255 * table(share)[..., :3]).astype(np.uint8)
    shown[~known] = UNKNOWN_ON_LIGHT
    picture = _resized(shown)
    if outlined is not None:
        cv2 = require("cv2", "a report")
        regions = _resized(255 * outlined.astype(np.uint8)) > 127
        picture[regions & ~cv2.erode(regions.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)] = MARK_COLOR
    return _address(picture)


def bulk(values: Array, low: float = 1, high: float = 99) -> tuple[float, float]:
    """The range of the known values between two percentiles."""
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    bottom, top = np.percentile(known, [low, high])
    return float(bottom), float(max(top, bottom + 1e-6))


def surface(depth_mm: Array, rig: Rig, left: Array, like_mm: Array) -> str:
    """The points of a depth map seen from the side, as the address of an ``img`` element.

    Parameters
    ----------
    depth_mm : ndarray of float32, shape (h, w)
        NaN where unknown.
    rig : Rig
        The cameras.
    left : ndarray, shape (h, w) or (h, w, 3)
        The left image, for the colours of the points.
    like_mm : ndarray of float32, shape (h, w)
        The depth that determines the view, so that it is the same for all methods.

    Returns
    -------
    str
    """
    near, far = bulk(like_mm, 2, 98)
    centre = np.array([0.0, 0.0, 0.5 * (near + far)])
    rows, columns = np.nonzero(np.isfinite(depth_mm) & (depth_mm < far + 0.5 * (far - near)))
    z = depth_mm[rows, columns].astype(np.float64)
    points = np.stack([(columns - rig.cx) * z, (rows - rig.cy) * z, rig.focal_px * z], 1) / rig.focal_px
    cos_yaw, sin_yaw, cos_pitch, sin_pitch = np.cos(YAW), np.sin(YAW), np.cos(PITCH), np.sin(PITCH)
    turn = np.array([[cos_yaw, 0, sin_yaw], [0, 1, 0], [-sin_yaw, 0, cos_yaw]])
    turn = np.array([[1, 0, 0], [0, cos_pitch, -sin_pitch], [0, sin_pitch, cos_pitch]]) @ turn
    points = (points - centre) @ turn.T + centre
    bright = np.rint(255 * (np.arange(256) / 255) ** 0.65).astype(
        np.uint8
    )  # endoscopic images are dark towards their rim
    colors = bright[as_rgb_bytes(left)[rows, columns]]
    height = round(WIDTH * depth_mm.shape[0] / depth_mm.shape[1])
    picture = np.full((height, WIDTH, 3), BACKGROUND, np.uint8)
    focal = 0.8 * rig.focal_px * WIDTH / depth_mm.shape[1]  # a little wider than the camera, to see it all
    ahead = points[:, 2] > 0.1 * near
    points, colors = points[ahead], colors[ahead]
    order = np.argsort(-points[:, 2])  # the nearest is drawn last
    points, colors = points[order], colors[order]
    x = np.rint(focal * points[:, 0] / points[:, 2] + WIDTH / 2).astype(int)
    y = np.rint(focal * points[:, 1] / points[:, 2] + height / 2).astype(int)
    inside = (x >= 0) & (x < WIDTH) & (y >= 0) & (y < height)
    picture[y[inside], x[inside]] = colors[inside]
    return _address(picture)


def _resized(image: Array) -> Array:
    cv2 = require("cv2", "a report")
    height = max(1, round(WIDTH * image.shape[0] / image.shape[1]))
    method = cv2.INTER_AREA if image.shape[1] > WIDTH else cv2.INTER_NEAREST
    resized: Array = cv2.resize(np.ascontiguousarray(image), (WIDTH, height), interpolation=method)
    return resized


def _address(image: Array) -> str:
    """A JPEG of the picture as a data address."""
    cv2 = require("cv2", "a report")
    _, content = cv2.imencode(".jpg", np.ascontiguousarray(image[..., ::-1]), [cv2.IMWRITE_JPEG_QUALITY, 88])
    return f"data:image/jpeg;base64,{base64.b64encode(bytes(content)).decode()}"
