"""Dense depth from a stereo endoscope in real time on one CPU core, with a probability for every pixel."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cloud import Cloud, read_ply, write_ply
    from .config import PRESETS, Settings
    from .files import (
        read_depth,
        read_disparity,
        read_image,
        read_result,
        write_depth,
        write_disparity,
        write_image,
        write_result,
    )
    from .matcher import StereoMatcher
    from .preview import write_preview
    from .rectification_check import RectificationCheck, check_rectification
    from .rectify import Rectifier, StereoCalibration
    from .result import StereoResult
    from .rig import Rig
    from .sources import open_source
    from .stream import DepthStream

__version__ = "0.1.0"
_MODULES = {
    "cloud": ["Cloud", "read_ply", "write_ply"],
    "config": ["PRESETS", "Settings"],
    "files": [
        "read_depth", "read_disparity", "read_image", "read_result",
        "write_depth", "write_disparity", "write_image", "write_result",
    ],
    "matcher": ["StereoMatcher"],
    "preview": ["write_preview"],
    "rectification_check": ["RectificationCheck", "check_rectification"],
    "rectify": ["Rectifier", "StereoCalibration"],
    "result": ["StereoResult"],
    "rig": ["Rig"],
    "sources": ["open_source"],
    "stream": ["DepthStream"],
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
