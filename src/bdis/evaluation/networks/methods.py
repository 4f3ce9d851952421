"""Networks as methods of the registry in ``evaluation/baselines``: with the weights and options that a user gives."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...common.assignments import read_values
from ...common.declared import check_names, declarations
from ...common.optional import install_command
from ..baselines import ONNX, Matcher, Method, known_methods
from . import NETWORKS, open_network
from .options import TRAINED_DISPARITY, NetworkOptions, OnnxOptions


def network_method(name: str, weights: str | Path | None = None, options: Mapping[str, str] | None = None) -> Method:
    """A network with its weights, to be compared with others.

    Parameters
    ----------
    name : str
        "psmnet", "gwcnet-g", "gwcnet-gc", or "onnx:" and the path of a file.
    weights : str or Path, optional
        File of weights; a network in an ONNX file has its own.
    options : mapping of str to str, optional
        Of :class:`NetworkOptions` or :class:`OnnxOptions`, as texts.

    Returns
    -------
    Method
        Its ``needs`` tells what is missing.

    Raises
    ------
    ValueError, TypeError
        An unknown option, or a value that it cannot have.

    Examples
    --------
    >>> network_method("psmnet", "kitti.tar", {"threads": "2"}).settings
    'weights kitti.tar, threads=2'
    """
    is_onnx = name.startswith(ONNX)
    if name == ONNX:
        raise ValueError(f"there is no file; expected {ONNX}FILE")
    declared: type = OnnxOptions if is_onnx else NetworkOptions
    values = read_values(options or {}, declared)
    check_names(values, declared, what="option")
    chosen = declared(**values)
    entry = known_methods()[f"{ONNX}FILE" if is_onnx else name]
    file = Path(name.removeprefix(ONNX)) if is_onnx else weights
    if file is None:
        return entry
    install = install_command("onnxruntime" if is_onnx else "torch")
    told = [] if is_onnx else [f"weights {Path(file).name}"]
    defaults = {each: about.default for each, about in declarations(declared).items()}
    told += [f"{each}={value}" for each, value in asdict(chosen).items() if value != defaults[each]]

    def make(max_disparity: float | None) -> Matcher:
        if is_onnx:
            from .onnx_matcher import OnnxMatcher

            return OnnxMatcher(Path(file), max_disparity, chosen)
        given = dict(values)
        own = given.pop("max_disparity", None) or max(TRAINED_DISPARITY, max_disparity or 0)
        return open_network(name, file, own, **given)

    return replace(
        entry,
        name=name,
        needs=install if entry.needs == install else None,
        make=make,
        settings=", ".join(told),
        identity=_identity(file, chosen),
    )


def is_network(name: str) -> bool:
    """Whether a method is a network.

    >>> is_network("psmnet"), is_network("onnx:net.onnx"), is_network("sgbm")
    (True, True, False)
    """
    return name in NETWORKS or name.startswith(ONNX)


def _identity(file: str | Path, options: Any) -> str:
    """What the results depend on: the content of the file, and the options."""
    try:
        with open(file, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
    except OSError:
        digest = "unreadable"  # told when it is loaded
    return f"{digest} {asdict(options)}"
