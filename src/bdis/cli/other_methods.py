"""Methods other than our own, networks above all, for ``bdis match`` and ``bdis bench``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import terminal
from .options import split_assignment
from .terminal import UsageError

if TYPE_CHECKING:
    from ..cameras.rig import Rig
    from ..common.arrays import Array
    from ..evaluation.baselines import Matcher, Method
    from ..matching.result import StereoResult

LIKELY_SIZE = 480, 640  # for which the memory is told where the size is not known yet

NetworkOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Option of a network, such as align_corners=true, disparity_scale=1.17 or device=cpu; can be repeated. In "
        "bdis bench, psmnet.NAME=VALUE is for one of them.",
    ),
]


def chosen_methods(
    names: Sequence[str], weights: Sequence[str] = (), options: Sequence[str] = (), *, default: bool = True
) -> list[Method]:
    """The requested methods, and the networks whose weights are given; by default all that can run here.

    Parameters
    ----------
    names : sequence of str
        Names of methods, each perhaps several, separated by commas.
    weights : sequence of str
        ``NETWORK=FILE``; the networks join the methods.
    options : sequence of str
        ``NAME=VALUE`` for all networks that have the option, or ``NETWORK.NAME=VALUE`` for one.
    default : bool
        Whether no names mean all methods that can run here, or none.

    Raises
    ------
    UsageError
        Something is unknown, or a method cannot run here.
    """
    from ..evaluation.baselines import METHODS, method
    from ..evaluation.networks.methods import is_network

    files = _files_of_networks(weights)
    wanted = [name.strip() for text in names for name in text.split(",") if name.strip()]
    if not wanted and default:
        wanted = [each.name for each in METHODS.values() if each.needs is None]
    wanted += [name for name in files if name not in wanted]
    networks = [name for name in wanted if is_network(name)]
    given = options_of_networks(networks, options)
    try:
        found = [
            network_of(name, files.get(name), given[name]) if is_network(name) else method(name)
            for name in dict.fromkeys(wanted)
        ]
    except ValueError as error:
        raise UsageError(f"{error} (bdis bench --list)") from error
    for each in found:
        if each.needs is not None:
            raise UsageError(f"method {each.name} cannot run here; it needs: {each.needs}")
    return found


def _files_of_networks(weights: Sequence[str]) -> dict[str, str]:
    """File of weights by network."""
    from ..evaluation.networks import NETWORKS

    found = {}
    for text in weights:
        name, is_assigned, file = (part.strip() for part in text.partition("="))
        if not is_assigned or not file:
            raise UsageError(f"--weights {text}: expected NETWORK=FILE, such as {NETWORKS[0]}={text.strip('= ')}")
        if name not in NETWORKS:
            raise UsageError(
                f"--weights {text}: {name} is no network with a file of weights; {', '.join(NETWORKS)} are"
            )
        found[name] = file
    return found


def network_of(name: str, weights: str | Path | None, options: dict[str, str]) -> Method:
    """A network with what was given for it."""
    from ..evaluation.networks.methods import network_method

    try:
        return network_method(name, weights, options)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{name}: {error}") from error


def options_of_networks(networks: list[str], options: Sequence[str]) -> dict[str, dict[str, str]]:
    """The options of each network: one without a network's name is for all that have it."""
    from ..common.declared import declarations
    from ..evaluation.baselines import ONNX
    from ..evaluation.networks.options import NetworkOptions, OnnxOptions

    found: dict[str, dict[str, str]] = {name: {} for name in networks}
    for text in options:
        name, value = split_assignment("--network-option", text)
        owner, dot, own = name.rpartition(".")
        used = [
            each
            for each in networks
            if (owner in (each, ONNX.rstrip(":") if each.startswith(ONNX) else each) if dot else True)
            and own in declarations(OnnxOptions if each.startswith(ONNX) else NetworkOptions)
        ]
        if not used:
            raise UsageError(f"--network-option {text}: none of the networks among the methods has it")
        for each in used:
            found[each][own] = value
    return found


def introduce_networks(methods: Sequence[Method]) -> None:
    """Load each network once before the work begins: what is wrong with a file is told now, and what it needs."""
    from ..evaluation.networks.methods import is_network

    for each in methods:
        if is_network(each.name):
            with terminal.working(f"loading {each.name}"):
                matcher = each.make(None)
            _introduce(each.name, matcher, LIKELY_SIZE)


def _introduce(name: str, matcher: Any, size: tuple[int, ...]) -> list[str]:
    """Tell what to know of a method, and how much memory it takes; the warnings are returned."""
    matcher = getattr(matcher, "matcher", matcher)  # inside a Shifted
    remarks = list(getattr(matcher, "remarks", ()))
    for text in remarks:
        terminal.warn(text)
    memory_bytes = getattr(matcher, "memory_bytes", None)
    if memory_bytes is not None:
        where = f" on {matcher.device.type}" if hasattr(matcher, "device") else ""
        terminal.note(
            f"{name} takes about {memory_bytes(*size) / 1e9:.1f} GB of memory for images of {size[1]}x{size[0]}{where}"
        )
    return remarks


class OtherMethod:
    """Matching with a method that is no preset of ours.

    Parameters
    ----------
    method : Method

    Attributes
    ----------
    warnings : list of str
        What the method says of itself, once it is loaded.
    """

    def __init__(self, method: Method):
        self.method = method
        self.warnings: list[str] = []
        self._smallest_px = 0.0

    def use_rig(self, rig: Rig | None, origin: str) -> list[str]:
        """Take the smallest disparity from the rig; what to remark of that."""
        self._smallest_px = 0.0 if rig is None else min(0.0, rig.disparity_range()[0])
        if not self._smallest_px:
            return []
        return [f"disparities from {self._smallest_px:g} px up are searched, as the cameras are verged"]

    def match(self, left: Array, right: Array, masks: dict[str, Array]) -> tuple[StereoResult, float]:
        """The result, with a confidence, and the time of the match in ms.

        Parameters
        ----------
        left, right : ndarray
            The rectified pair.
        masks : dict of str to ndarray
            "left_mask" and "right_mask", if given: 0 at pixels to ignore.
        """
        with terminal.working(f"loading {self.method.name}"):
            matcher = self.method.make_between(self._smallest_px, None)
        self.warnings += _introduce(self.method.name, matcher, left.shape[:2])
        begin = time.perf_counter()
        result = self._run(matcher, left, right)
        milliseconds = 1e3 * (time.perf_counter() - begin)
        return _with_confidence(_masked(result, masks), left, right, masks), milliseconds

    def about(self) -> dict[str, Any]:
        """What it was made with."""
        from .. import __version__

        return {"bdis": __version__, "method": self.method.name, "settings": self.method.settings}

    def _run(self, matcher: Matcher, left: Array, right: Array) -> StereoResult:
        if not hasattr(matcher, "network"):
            with terminal.working(f"matching with {self.method.name}"):
                return matcher.match(left, right)
        with terminal.progress_bar() as progress:
            what = f"matching with {self.method.name}"
            progress(what, 0, matcher.network.steps)
            run: Any = matcher.match
            found: StereoResult = run(left, right, progress=lambda done, of: progress(what, done, of))
            return found


def _masked(result: StereoResult, masks: dict[str, Array]) -> StereoResult:
    """Unknown where a mask is 0, at the pixel or where it leads to in the right image."""
    import numpy as np

    kept = result.known
    if (left := masks.get("left_mask")) is not None:
        kept &= left != 0
    if (right := masks.get("right_mask")) is not None:
        rows, columns = np.nonzero(kept)
        there = np.rint(columns - result.disparity[rows, columns]).astype(int).clip(0, kept.shape[1] - 1)
        kept[rows, columns] = right[rows, there] != 0
    nothing = np.float32(np.nan)
    return replace(
        result,
        disparity=np.where(kept, result.disparity, nothing),
        probability=np.where(kept, result.probability, np.float32(0)),
        variance=None if result.variance is None else np.where(kept, result.variance, nothing),
    )


def _with_confidence(result: StereoResult, left: Array, right: Array, masks: dict[str, Array]) -> StereoResult:
    """The result with the confidence of ``bdis assess``, if the method has none of its own."""
    from ..matching.assess import assess

    if result.variance is not None:
        return result
    try:
        with terminal.working("assessing"):
            seen = masks.get("left_mask"), masks.get("right_mask")
            judged = assess(left, right, result.disparity, left_mask=seen[0], right_mask=seen[1])
    except ValueError as error:
        terminal.warn(f"the result has no confidence: the method has none, and {error}")
        return result
    return replace(result, probability=judged.probability, variance=judged.variance)
