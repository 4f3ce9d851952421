"""Dense depth from a stereo endoscope in real time on one CPU core, with a probability for every pixel."""

from typing import TYPE_CHECKING

from .common.version import __version__ as __version__

_HOMES = {  # the public names, by the module that defines them
    "cameras.calibration": ("StereoCalibration",),
    "cameras.checks": ("RectificationCheck", "check_rectification"),
    "cameras.cloud": ("Cloud",),
    "cameras.depth_pictures": ("plot_pair",),
    "cameras.rectifier": ("Rectifier",),
    "cameras.rig": ("Rig",),
    "files.images": ("read_image", "write_image"),
    "files.maps": ("read_depth", "read_disparity", "read_result", "write_depth", "write_disparity", "write_result"),
    "files.ply": ("read_ply", "write_ply"),
    "files.preview": ("write_preview",),
    "matching.assess": ("assess",),
    "matching.combine": ("combine",),
    "matching.matcher": ("StereoMatcher",),
    "matching.result": ("StereoResult",),
    "matching.settings": ("PRESETS", "Settings"),
    "video.sources": ("open_source",),
    "video.stream.depth_stream": ("DepthStream",),
    "viewer.inline_page": ("show",),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}
__all__ = sorted(_MODULE_OF)

if TYPE_CHECKING:  # the same once more for type checkers and editors, which do not run code; a test compares the two
    from .cameras.calibration import StereoCalibration as StereoCalibration
    from .cameras.checks import RectificationCheck as RectificationCheck
    from .cameras.checks import check_rectification as check_rectification
    from .cameras.cloud import Cloud as Cloud
    from .cameras.depth_pictures import plot_pair as plot_pair
    from .cameras.rectifier import Rectifier as Rectifier
    from .cameras.rig import Rig as Rig
    from .files.images import read_image as read_image
    from .files.images import write_image as write_image
    from .files.maps import read_depth as read_depth
    from .files.maps import read_disparity as read_disparity
    from .files.maps import read_result as read_result
    from .files.maps import write_depth as write_depth
    from .files.maps import write_disparity as write_disparity
    from .files.maps import write_result as write_result
    from .files.ply import read_ply as read_ply
    from .files.ply import write_ply as write_ply
    from .files.preview import write_preview as write_preview
    from .matching.assess import assess as assess
    from .matching.combine import combine as combine
    from .matching.matcher import StereoMatcher as StereoMatcher
    from .matching.result import StereoResult as StereoResult
    from .matching.settings import PRESETS as PRESETS
    from .matching.settings import Settings as Settings
    from .video.sources import open_source as open_source
    from .video.stream.depth_stream import DepthStream as DepthStream
    from .viewer.inline_page import show as show


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import bdis`` is fast and does not import Numba."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'bdis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"bdis.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULE_OF])
