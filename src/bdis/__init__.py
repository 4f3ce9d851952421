"""Dense depth from a stereo endoscope in real time on one CPU core, with a probability for every pixel."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cameras.checks import RectificationCheck, check_rectification
    from .cameras.cloud import Cloud, read_ply, write_ply
    from .cameras.rectifier import Rectifier, StereoCalibration
    from .cameras.rig import Rig
    from .files.maps import (
        read_depth,
        read_disparity,
        read_image,
        read_result,
        write_depth,
        write_disparity,
        write_image,
        write_result,
    )
    from .files.preview import write_preview
    from .matching.matcher import StereoMatcher
    from .matching.result import StereoResult
    from .matching.settings import PRESETS, Settings
    from .video.sources import open_source
    from .video.stream.depth_stream import DepthStream

__version__ = "0.1.0"
_MODULES = {
    "cameras.cloud": ["Cloud", "read_ply", "write_ply"],
    "matching.settings": ["PRESETS", "Settings"],
    "files.maps": [
        "read_depth", "read_disparity", "read_image", "read_result",
        "write_depth", "write_disparity", "write_image", "write_result",
    ],
    "matching.matcher": ["StereoMatcher"],
    "files.preview": ["write_preview"],
    "cameras.checks": ["RectificationCheck", "check_rectification"],
    "cameras.rectifier": ["Rectifier", "StereoCalibration"],
    "matching.result": ["StereoResult"],
    "cameras.rig": ["Rig"],
    "video.sources": ["open_source"],
    "video.stream.depth_stream": ["DepthStream"],
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}
__all__ = [
    "PRESETS",
    "Cloud",
    "DepthStream",
    "RectificationCheck",
    "Rectifier",
    "Rig",
    "Settings",
    "StereoCalibration",
    "StereoMatcher",
    "StereoResult",
    "check_rectification",
    "open_source",
    "read_depth",
    "read_disparity",
    "read_image",
    "read_ply",
    "read_result",
    "write_depth",
    "write_disparity",
    "write_image",
    "write_ply",
    "write_preview",
    "write_result",
]


def __getattr__(name: str) -> object:
    """Load what is asked for and no more: ``import bdis`` is instant, Numba comes with the first matcher."""
    if name not in _HOME:
        raise AttributeError(f"module 'bdis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"bdis.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
