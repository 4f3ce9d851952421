"""Texts of the form ``NAME=VALUE``, as commands and scene addresses have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .declared import declarations


def split_assignments(texts: Iterable[str], where: str) -> dict[str, str]:
    """Names and values of texts such as ``"smoke=0.3"``; of a name that occurs twice, the last value.

    Parameters
    ----------
    texts : iterable of str
    where : str
        Where they were written, for the message.

    Raises
    ------
    ValueError
        A text without ``=``.

    Examples
    --------
    >>> split_assignments(["smoke=0.3", "lighting = diffuse"], "--set")
    {'smoke': '0.3', 'lighting': 'diffuse'}
    """
    found = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise ValueError(f"{text!r} in {where}: expected NAME=VALUE")
        found[name] = value
    return found


def read_values(texts: Mapping[str, str], *classes: type) -> dict[str, Any]:
    """The values that texts stand for, by the declarations in ``classes``.

    The value of a name that is not declared there becomes a number if it looks like one.

    Examples
    --------
    >>> from bdis.matching.settings import Settings
    >>> read_values({"newton": "off", "max_disparity": "none", "frames": "8"}, Settings)
    {'newton': False, 'max_disparity': None, 'frames': 8}
    """
    known = {name: declared for cls in classes for name, declared in declarations(cls).items()}
    return {name: known[name].read(text) if name in known else _guessed(text) for name, text in texts.items()}


def _guessed(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
