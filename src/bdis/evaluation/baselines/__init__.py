"""Other stereo matchers behind ``match(left, right)``, and one registry of all methods that can be compared.

The registry is the only place that decides how a method is set up: ``bdis bench`` and ``benchmarks/`` both use it,
and :meth:`Method.describe` puts its settings into words for their tables.

>>> from bdis.evaluation.baselines import method
>>> matcher = method("bdis").make(64)  # up to 64 px of disparity
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ...common.optional import install_command, is_installed, require
from ...matching.result import StereoResult
from . import opencv
from .shifted import Shifted

__all__ = ["METHODS", "ONNX", "Matcher", "Method", "known_methods", "method"]

ONNX = "onnx:"  # before the path of a network in an ONNX file


class Matcher(Protocol):
    """Anything that matches a rectified pair."""

    def match(self, left: Any, right: Any) -> StereoResult:
        """Disparity of the left image."""


@dataclass(frozen=True)
class Method:
    """A way to match that can be compared with others.

    Attributes
    ----------
    name : str
        Its key in ``METHODS``.
    summary : str
        One line that says what it is.
    needs : str or None
        What is missing: a command that installs it, or an option; None if the method can run here.
    make : callable
        Makes a matcher from the largest disparity in px, or None for the method's own default.
    title : str
        Its name in tables; empty for ``name``.
    settings : str
        The settings that matter most, in a few words, such as "block 7, five directions".
    details : str
        The remaining settings in words.
    disparity_count : callable or None
        The number of disparities it tries for a largest disparity in px; None if its effort does not depend on it.
    preset : str or None
        The preset of :class:`bdis.StereoMatcher` that it is; None for other matchers.
    identity : str
        What else its results depend on, such as a file of weights; they are reused only for the same identity.

    Examples
    --------
    >>> METHODS["sgbm"].describe([128])
    'OpenCV SGBM, 128 disparities, block 7, five directions'
    """

    name: str
    summary: str
    needs: str | None
    make: Callable[[float | None], Matcher]
    title: str = ""
    settings: str = ""
    details: str = ""
    disparity_count: Callable[[float], int] | None = None
    preset: str | None = None
    identity: str = ""

    def make_between(self, smallest_px: float, largest_px: float | None) -> Matcher:
        """Make a matcher for a range of disparities, which may go below 0.

        Parameters
        ----------
        smallest_px : float
            At most 0.
        largest_px : float or None
            None for the method's own default.

        Returns
        -------
        Matcher

        Examples
        --------
        >>> METHODS["bdis-fast"].make_between(-20, 30).settings.min_disparity
        -20.0
        >>> METHODS["sgbm"].make_between(-20, 30).matcher.max_disparity
        50.0
        """
        if smallest_px >= 0:
            return self.make(largest_px)
        if self.preset is not None:
            from ...matching.matcher import StereoMatcher

            return StereoMatcher(self.preset, min_disparity=smallest_px, max_disparity=largest_px)
        columns = math.ceil(-smallest_px)
        return Shifted(self.make(None if largest_px is None else largest_px + columns), columns)

    def describe(self, max_disparities_px: Iterable[float | None] = ()) -> str:
        """Name and settings in words, as tables show them.

        Parameters
        ----------
        max_disparities_px : iterable of float or None
            The largest disparities in px that matchers were made with; None entries are ignored.

        Returns
        -------
        str
            Such as "OpenCV SGBM, 64 to 128 disparities, block 7, five directions".

        Examples
        --------
        >>> METHODS["sgbm"].describe([60, 128, None])
        'OpenCV SGBM, 64 to 128 disparities, block 7, five directions'
        >>> METHODS["bdis-fast"].describe([128])
        'bdis fast'
        """
        counts: set[int] = set()
        if self.disparity_count is not None:
            counts = {self.disparity_count(most) for most in max_disparities_px if most is not None}
        tried = " to ".join(str(count) for count in sorted({min(counts), max(counts)})) if counts else ""
        parts = [self.title or self.name, f"{tried} disparities" if tried else "", self.settings]
        return ", ".join(part for part in parts if part)


def _bdis(name: str, summary: str, preset: str) -> tuple[Method, None]:
    def make(max_disparity: float | None) -> Matcher:
        from ...matching.matcher import StereoMatcher

        return StereoMatcher(preset, max_disparity=max_disparity)

    return Method(name, summary, None, make, title=f"bdis {preset}", preset=preset), None


def _stereo(name: str, summary: str, title: str, settings: str) -> tuple[Method, str]:
    def make(max_disparity: float | None) -> Matcher:
        return opencv.OpenCVStereo(name, max_disparity)

    details = opencv.BM_DETAILS if name == "bm" else opencv.SGBM_DETAILS
    return Method(name, summary, None, make, title, settings, details, opencv.disparity_count), "cv2"


def _flow(name: str, summary: str, quality: str) -> tuple[Method, str]:
    def make(max_disparity: float | None) -> Matcher:
        return opencv.OpenCVFlow(max_disparity, quality)

    return Method(name, summary, None, make, "OpenCV DIS flow", f"preset {quality}", opencv.FLOW_DETAILS), "cv2"


def _elas(name: str, summary: str, setting: str) -> tuple[Method, str]:
    def make(max_disparity: float | None) -> Matcher:
        from .elas.matcher import Elas

        return Elas(setting, max_disparity=max_disparity)

    details = "written from its paper; support points, triangulated prior, left-right check, gaps filled"
    return Method(name, summary, None, make, "ELAS", f"{setting} settings", details), "scipy"


def _network(name: str, summary: str, title: str) -> tuple[Method, str]:
    def make(max_disparity: float | None) -> Matcher:
        require("torch", f"the network {name}")
        raise ValueError(f"{name} needs a file of weights: --weights {name}=FILE, or in Python load_network")

    details = "written from its paper; 192 disparities, as trained, or those of the data set if they are more"
    return Method(name, summary, f"--weights {name}=FILE", make, title, "no weights", details), "torch"


def _onnx() -> tuple[Method, str]:
    def make(max_disparity: float | None) -> Matcher:
        require("onnxruntime", "a network in an ONNX file")
        raise ValueError(f"give the path of an ONNX file: {ONNX}PATH")

    summary = "any network in an ONNX file: two images in, one disparity out"
    return Method(
        f"{ONNX}FILE", summary, "the path of a file", make, "ONNX network", "no file", "as it is"
    ), "onnxruntime"


_ALL: tuple[tuple[Method, str | None], ...] = (  # each with the package it needs
    _bdis("bdis", "this project's default, preset balanced", "balanced"),
    _bdis("bdis-accurate", "two rounds of everything, and sharp depth edges", "accurate"),
    _bdis("bdis-fast", "the paper's search with fewer steps", "fast"),
    _bdis("bdis-paper", "the settings of the BDIS paper", "paper"),
    _bdis("bdis-2021", "the preliminary BDIS of 2021: fixed sigma_r, no propagation", "paper-2021"),
    _bdis("dis", "dense inverse search with its deterministic fusion", "dis"),
    _stereo(
        "sgbm", "OpenCV's semi-global matcher, five directions, block 7", "OpenCV SGBM", "block 7, five directions"
    ),
    _stereo("sgbm-3way", "the same with three directions", "OpenCV SGBM", "block 7, three directions"),
    _stereo("bm", "OpenCV's block matcher, block 15", "OpenCV BM", "block 15"),
    _flow("dis-flow", "OpenCV's DIS optical flow, medium, horizontal part", "medium"),
    _flow("dis-flow-ultrafast", "the same with its fastest preset", "ultrafast"),
    _elas("elas", "Efficient Large-Scale Stereo, robotics settings", "robotics"),
    _elas("elas-middlebury", "the same with its denser Middlebury settings", "middlebury"),
    _network("psmnet", "PSMNet, a neural network with stacked hourglasses", "PSMNet"),
    _network("gwcnet-g", "GwcNet, a neural network of group-wise correlations", "GwcNet-g"),
    _network("gwcnet-gc", "the same with features concatenated", "GwcNet-gc"),
    _onnx(),
)
_ALIASES = {"bdis-balanced": "bdis", "bdis-paper-2021": "bdis-2021", "bdis-dis": "dis"}  # each preset as bdis-<preset>


def known_methods() -> dict[str, Method]:
    """All methods by name; ``needs`` says what is missing in this environment at the time of the call.

    Returns
    -------
    dict of str to Method

    Examples
    --------
    >>> list(known_methods())[:3]
    ['bdis', 'bdis-accurate', 'bdis-fast']
    """
    return {
        each.name: replace(each, needs=install_command(package)) if package and not is_installed(package) else each
        for each, package in _ALL
    }


METHODS: dict[str, Method] = known_methods()


def method(name: str) -> Method:
    """The method called ``name``; every preset is also known as ``bdis-<preset>``.

    Parameters
    ----------
    name : str
        A key of ``METHODS``, ``bdis-<preset>``, or ``onnx:`` and the path of a file.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        There is no method of this name; the message lists the known ones.

    Examples
    --------
    >>> method("bdis-balanced").name
    'bdis'
    """
    name = _ALIASES.get(name, name)
    if name.startswith(ONNX) and name not in METHODS:
        from ..networks.methods import network_method

        return network_method(name)
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; there are {', '.join(METHODS)}")
    return METHODS[name]
