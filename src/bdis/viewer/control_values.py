"""What the controls of the page accept from a browser."""

from __future__ import annotations

import math
import reprlib
from typing import Any

from ..common.optional import require

LARGEST = 2**53  # the largest whole number that JavaScript does not round; viser cannot send more than 64 bits
MAX_LETTERS = 200  # of a text


def value_for(control: Any, sent: Any) -> Any:
    """The value that a control takes from a browser.

    viser takes whatever comes, and sends it on to every other browser.

    Parameters
    ----------
    control : viser.GuiInputHandle
        The control that a message names.
    sent : object
        The value in the message.

    Returns
    -------
    bool, int, float, str or tuple of float
        A value of the control's own kind.

    Raises
    ------
    ValueError
        The control cannot have this value; the message says what was expected and what came.
    """
    viser = require("viser", "the viewer")
    match control:
        case viser.GuiCheckboxHandle() | viser.GuiButtonHandle():
            if isinstance(sent, bool):
                return sent
            raise _refused("yes or no", sent)
        case viser.GuiDropdownHandle() | viser.GuiButtonGroupHandle():
            if isinstance(sent, str) and sent in control.options:
                return sent
            raise _refused(f"one of {', '.join(control.options)}", sent)
        case viser.GuiTextHandle():
            if isinstance(sent, str) and len(sent) <= MAX_LETTERS and sent.isprintable():
                return sent
            raise _refused(f"a text of at most {MAX_LETTERS} letters", sent)
        case viser.GuiNumberHandle() | viser.GuiSliderHandle():
            return number_for(sent, type(control.value), control.min, control.max)
        case viser.GuiVector2Handle():
            if isinstance(sent, list) and len(sent) == 2:
                return tuple(number_for(each, float) for each in sent)
            raise _refused("two numbers", sent)
    raise ValueError("it cannot be set")


def number_for(sent: Any, kind: type = float, low: float | None = None, high: float | None = None) -> float:
    """The number that a browser sent.

    Parameters
    ----------
    sent : object
        What came; JavaScript does not tell 8 from 8.0.
    kind : type
        int or float.
    low, high : float, optional
        Least and largest value.

    Returns
    -------
    int or float
        Of the wanted kind.

    Raises
    ------
    ValueError
        It is no such number.

    Examples
    --------
    >>> number_for(8.0, int)
    8
    >>> number_for(float("nan"))
    Traceback (most recent call last):
    ValueError: expected a number, but nan came
    """
    low, high = -LARGEST if low is None else low, LARGEST if high is None else high
    words = "a whole number" if kind is int else "a number"
    if (low, high) != (-LARGEST, LARGEST):
        words += f" from {low:g} to {high:g}"
    is_number = isinstance(sent, int | float) and not isinstance(sent, bool) and math.isfinite(sent)
    if not is_number or not low <= sent <= high or (kind is int and sent != int(sent)):
        raise _refused(words, sent)
    return int(sent) if kind is int else float(sent)


def _refused(expected: str, sent: Any) -> ValueError:
    return ValueError(f"expected {expected}, but {reprlib.repr(sent)} came")
