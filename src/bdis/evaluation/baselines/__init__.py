"""Other matchers behind ``match(left, right)``, and one registry of all methods there are to compare.

>>> from bdis.evaluation.baselines import method
>>> matcher = method("bdis").make(64)  # up to 64 px of disparity
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from ...common.optional import install_command
from ...matching.result import StereoResult

__all__ = ["METHODS", "Matcher", "Method", "known_methods", "method"]


class Matcher(Protocol):
    """Anything that matches a rectified pair."""

    def match(self, left: Any, right: Any) -> StereoResult:
        """Disparity of the left image."""


@dataclass(frozen=True)
class Method:
    """A way to match that can be compared with others."""

    name: str
    summary: str  # one line
    needs: str | None  # the command that installs what is missing, None if it can run here
    make: Callable[[float | None], Matcher]  # takes the largest disparity in px; None: as far as the method goes


def _bdis(preset: str) -> Callable[[float | None], Matcher]:
    def make(max_disparity: float | None) -> Matcher:
        from ...matching.matcher import StereoMatcher

        return StereoMatcher(preset, max_disparity=max_disparity)

    return make


def _opencv(kind: str) -> Callable[[float | None], Matcher]:
    def make(max_disparity: float | None) -> Matcher:
        from .opencv import OpenCVFlow, OpenCVStereo

        return OpenCVFlow(max_disparity) if kind == "dis-flow" else OpenCVStereo(kind, max_disparity)

    return make


def _elas(setting: str) -> Callable[[float | None], Matcher]:
    def make(max_disparity: float | None) -> Matcher:
        from .elas.matcher import Elas

        return Elas(setting, max_disparity=max_disparity)

    return make


_ALL: tuple[tuple[str, str, str | None, Callable[[float | None], Matcher]], ...] = (
    ("bdis", "this project's default, preset balanced", None, _bdis("balanced")),
    ("bdis-accurate", "two rounds of everything, and sharp depth edges", None, _bdis("accurate")),
    ("bdis-fast", "the paper's search with fewer steps", None, _bdis("fast")),
    ("bdis-paper", "the settings of the BDIS paper", None, _bdis("paper")),
    ("bdis-2021", "the preliminary BDIS of 2021: fixed sigma_r, no propagation", None, _bdis("paper-2021")),
    ("dis", "dense inverse search with its deterministic fusion", None, _bdis("dis")),
    ("sgbm", "OpenCV's semi-global matcher, five directions, block 7", "cv2", _opencv("sgbm")),
    ("sgbm-3way", "the same with three directions", "cv2", _opencv("sgbm-3way")),
    ("bm", "OpenCV's block matcher, block 15", "cv2", _opencv("bm")),
    ("dis-flow", "OpenCV's DIS optical flow, medium, horizontal part", "cv2", _opencv("dis-flow")),
    ("elas", "Efficient Large-Scale Stereo, robotics settings", "scipy", _elas("robotics")),
    ("elas-middlebury", "the same with its denser Middlebury settings", "scipy", _elas("middlebury")),
)
_ALIASES = {"bdis-balanced": "bdis", "bdis-paper-2021": "bdis-2021", "bdis-dis": "dis"}  # each preset as bdis-<preset>


def known_methods() -> dict[str, Method]:
    """All methods by name, with what is missing for them here and now.

    Examples
    --------
    >>> list(known_methods())[:3]
    ['bdis', 'bdis-accurate', 'bdis-fast']
    """
    return {
        name: Method(name, summary, install_command(package) if package and not _present(package) else None, make)
        for name, summary, package, make in _ALL
    }


def _present(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ValueError:  # None in sys.modules: switched off
        return False


METHODS: dict[str, Method] = known_methods()


def method(name: str) -> Method:
    """The method called ``name``; every preset is known as ``bdis-<preset>`` as well.

    Raises
    ------
    ValueError
        There is none of this name; the message lists those there are.

    Examples
    --------
    >>> method("bdis-balanced").name
    'bdis'
    """
    name = _ALIASES.get(name, name)
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
