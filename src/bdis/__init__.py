"""Dense depth from a stereo endoscope in real time on one CPU core, with a probability for every pixel."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import PRESETS, Settings
    from .matcher import StereoMatcher
    from .result import StereoResult

__version__ = "0.1.0"
_HOME = {"StereoMatcher": "matcher", "StereoResult": "result", "PRESETS": "config", "Settings": "config"}
__all__ = ["PRESETS", "Settings", "StereoMatcher", "StereoResult"]


def __getattr__(name: str) -> object:
    """Load what is asked for and no more: ``import bdis`` is instant, Numba comes with the first matcher."""
    if name not in _HOME:
        raise AttributeError(f"module 'bdis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"bdis.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
