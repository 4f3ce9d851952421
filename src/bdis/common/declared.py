"""Settings that are declared once: default, range, unit, meaning and group stand beside each other.

A dataclass declares its fields with :func:`setting`.  Everything else reads that declaration: the check of the values
(:func:`check_settings`), the docstring (:func:`with_attributes`), the commands, the viewer's controls and the tests.
Texts of the form ``NAME=VALUE`` are read by ``assignments.py``.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import numbers
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from .printable import printable

_KEY = "setting"  # in the metadata of a field
_KINDS: dict[type, tuple[type, str]] = {
    int: (numbers.Integral, "a whole number"),
    float: (numbers.Real, "a number"),
    bool: (bool, "True or False"),
}
_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_WIDTH = 112  # characters of a line of a generated docstring

Bound = float | str | None  # a number, the name of another setting, or none
Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Setting:
    """One declared setting.

    Attributes
    ----------
    name : str
    kind : type
        int, float, bool, or str if the value is one of ``choices``.
    is_optional : bool
        True if None is a value as well.
    choices : tuple
        All values there are; empty for numbers and switches.
    default : object
    sentence : str
        What the setting does.
    group : str
        Heading under which it is listed.
    unit : str
        Empty if it has none.
    low, high : float, str or None
        Least and largest value; the name of another setting stands for the value of that one.
    above, below : float, str or None
        As ``low`` and ``high``, but the bound itself is not allowed.
    step : float or None
        An int must be a multiple of it; for a float it is the step of a control.
    if_none : str
        What None means.
    """

    name: str
    kind: type
    is_optional: bool
    choices: tuple[Any, ...]
    default: Any
    sentence: str
    group: str
    unit: str = ""
    low: Bound = None
    high: Bound = None
    above: Bound = None
    below: Bound = None
    step: float | None = None
    if_none: str = ""

    @property
    def type_text(self) -> str:
        """The type as a docstring names it."""
        if self.choices:
            return "{" + ", ".join(map(repr, self.choices)) + "}"
        return self.kind.__name__ + (" or None" if self.is_optional else "")

    def range_text(self, settings: object = None, *, unit: bool = True, none: bool = True) -> str:
        """The allowed values in words.

        Parameters
        ----------
        settings : object, optional
            A bound that is another setting is shown with its value in these.
        unit, none : bool
            Name the unit, and None if it is allowed.
        """
        if self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        if self.kind is bool:
            return _KINDS[bool][1]
        words = " and ".join(self._bound_texts(settings)) or _KINDS[self.kind][1]
        if self.kind is int and self.step:
            words = f"{'an even number' if self.step == 2 else f'a multiple of {self.step:g}'} {words}"
        if unit and self.unit:
            words += f" {self.unit}"
        return f"None or {words}" if none and self.is_optional else words

    def _bound_texts(self, settings: object) -> list[str]:
        shown = {
            side: self._bound_text(bound, settings)
            for side, bound in (("low", self.low), ("high", self.high), ("above", self.above), ("below", self.below))
            if bound is not None
        }
        if "low" in shown and "high" in shown:
            return [f"from {shown['low']} to {shown['high']}"]
        words = {"low": "at least", "above": "above", "high": "at most", "below": "below"}
        return [f"{word} {shown[side]}" for side, word in words.items() if side in shown]

    def _bound_text(self, bound: float | str, settings: object) -> str:
        if not isinstance(bound, str):
            return number_text(bound)
        if settings is None:
            return bound
        unit = f" {self.unit}" if self.unit else ""
        return f"{bound} ({number_text(getattr(settings, bound))}{unit})"

    def description(self, none: str = "None") -> str:
        """The sentence, the range with its unit, and what no value (called ``none``) means."""
        parts = [self.sentence]
        if not self.choices and self.kind is not bool:
            words = self.range_text(none=False)
            parts.append(f"{words[0].upper()}{words[1:]}.")
        if self.if_none:
            parts.append(f"{none}: {self.if_none}.")
        return " ".join(parts)

    @property
    def limits(self) -> tuple[float, float] | None:
        """Least and largest value, if both are numbers."""
        if isinstance(self.low, int | float) and isinstance(self.high, int | float):
            return float(self.low), float(self.high)
        return None

    @property
    def label(self) -> str:
        """A short name for people, with the unit: "Max. disparity, px"."""
        words = self.name.removesuffix(f"_{self.unit}").replace("_", " ").capitalize()
        for start in ("Min ", "Max "):
            words = words.replace(start, f"{start.rstrip()}. ")
        unit = self.unit.partition(" of ")[0]
        return f"{words}, {unit}" if unit else words

    def converted(self, value: Any) -> Any:
        """``value`` as a Python value of this setting's kind.

        Raises
        ------
        TypeError
            It is of another kind.
        ValueError
            It is none of the choices, not a number, or too large for one.
        """
        if self.choices:
            if value not in self.choices:
                raise ValueError(f"{self.name} must be {self.range_text()}, but it is {value!r}")
            return self.choices[self.choices.index(value)]
        if value is None and self.is_optional:
            return None
        allowed, words = _KINDS[self.kind]
        words += " or None" if self.is_optional else ""
        if type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
            value = bool(value)
        if not isinstance(value, allowed) or (isinstance(value, bool) and self.kind is not bool):
            raise TypeError(f"{self.name} must be {words}, but it is {value!r}")
        try:
            number = self.kind(value)
        except OverflowError:
            raise ValueError(f"{self.name} must be {words} below 1e308, but it is larger") from None
        if number != number:
            raise ValueError(f"{self.name} must be {words}, but it is nan")
        return number

    def check_range(self, settings: object) -> None:
        """Refuse a value of ``settings`` that is out of range.

        Raises
        ------
        ValueError
            The message names the range and the value.
        """
        value = getattr(settings, self.name)
        if value is None or self.choices or self.kind is bool:
            return
        low, high, above, below = (
            getattr(settings, bound) if isinstance(bound, str) else bound
            for bound in (self.low, self.high, self.above, self.below)
        )
        is_good = (
            (low is None or value >= low)
            and (high is None or value <= high)
            and (above is None or value > above)
            and (below is None or value < below)
            and (self.kind is float or not self.step or value % self.step == 0)
        )
        if not is_good:
            # A whole number counts something and needs no unit to be understood.
            words = self.range_text(settings, unit=self.kind is float)
            raise ValueError(f"{self.name} must be {words}, but it is {_value_text(value)}")
        if self.kind is float and math.isinf(value):
            raise ValueError(f"{self.name} must be a finite number, but it is {value}")

    def read(self, text: str) -> Any:
        """The value that ``text`` stands for; ``text`` itself if it is none, which the check then refuses.

        Examples
        --------
        >>> size = Setting("size", int, True, (), 8, "Side of a patch.", "Patches")
        >>> size.read("12"), size.read("none"), size.read("big")
        (12, None, 'big')
        """
        if text in self.choices:
            return text
        word = text.lower()
        if word in _BOOLEANS and (self.kind is bool or _BOOLEANS[word] in self.choices):
            return _BOOLEANS[word]
        if word == "none" and (self.is_optional or None in self.choices):
            return None
        if self.kind in (int, float) and not self.choices:
            try:
                return self.kind(text)
            except ValueError:
                return text
        return text


def setting(
    default: Any,
    sentence: str,
    *,
    group: str,
    unit: str = "",
    low: Bound = None,
    high: Bound = None,
    above: Bound = None,
    below: Bound = None,
    step: float | None = None,
    if_none: str = "",
) -> Any:
    """Declare a field of a dataclass; the arguments are the attributes of :class:`Setting`.

    Returns
    -------
    dataclasses.Field
        Typed as Any, so that a type checker accepts it as a default of any field.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Patches:
    ...     size: int = setting(8, "Side of a patch.", group="Patches", unit="px", low=4, high=16, step=2)
    ...
    ...     def __post_init__(self) -> None:
    ...         check_settings(self)
    >>> Patches(size=5)
    Traceback (most recent call last):
    ValueError: size must be an even number from 4 to 16, but it is 5
    """
    declared = {
        "sentence": sentence, "group": group, "unit": unit, "low": low, "high": high, "above": above, "below": below,
        "step": step, "if_none": if_none,
    }  # fmt: skip
    return dataclasses.field(default=default, metadata={_KEY: declared})


@cache
def declarations(cls: type) -> dict[str, Setting]:
    """The settings that a dataclass declares, by name.

    Examples
    --------
    >>> from bdis.matching.settings import Settings
    >>> declarations(Settings)["smoothing_edge"].range_text()
    'from 0.1 to 1000 grey levels'
    """
    hints = get_type_hints(cls)
    found = {}
    for field in dataclasses.fields(cls):
        hint, choices, is_optional = hints[field.name], (), False
        if get_origin(hint) is Literal:
            choices, hint = get_args(hint), str
        elif members := get_args(hint):  # a type or None
            hint, is_optional = members[0], True
        found[field.name] = Setting(field.name, hint, is_optional, choices, field.default, **field.metadata[_KEY])
    return found


def groups(cls: type) -> dict[str, list[Setting]]:
    """The settings that a dataclass declares, by group, both in the order of the declarations."""
    found: dict[str, list[Setting]] = {}
    for declared in declarations(cls).values():
        found.setdefault(declared.group, []).append(declared)
    return found


def check_settings(settings: Any) -> None:
    """Check all fields of a dataclass of declared settings; NumPy's numbers become Python's.

    Raises
    ------
    TypeError
        A value of the wrong kind.
    ValueError
        A value out of range.
    """
    cls: type = type(settings)
    declared = declarations(cls)
    for name, each in declared.items():  # kinds first: a range may depend on another setting
        object.__setattr__(settings, name, each.converted(getattr(settings, name)))
    for each in declared.values():
        each.check_range(settings)


def check_names(names: Iterable[str], *classes: type, what: str = "setting") -> None:
    """Refuse names that none of ``classes`` declares.

    Raises
    ------
    ValueError
        The message lists the unknown and the known names.
    """
    known = [name for cls in classes for name in declarations(cls)]
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"unknown {what} {printable(', '.join(unknown))}; there are {', '.join(known)}")


def with_attributes(cls: Class) -> Class:
    """Class decorator: adds a numpydoc section "Attributes" with all declared settings to the docstring."""
    cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + _section("Attributes", cls)
    return cls


def taking_settings(settings: type) -> Callable[[Class], Class]:
    """Class decorator: the constructor takes all settings that a dataclass declares, as ``**settings``.

    Its signature and its docstring list them, so that interpreters complete their names and ``help`` explains them.

    Parameters
    ----------
    settings : type
        Dataclass of declared settings.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> from bdis.matching.settings import Settings
    >>> @taking_settings(Settings)
    ... class Matcher:
    ...     def __init__(self, preset: str = "balanced", **settings: object): ...
    >>> list(inspect.signature(Matcher).parameters)[:3]
    ['preset', 'bits', 'patch_size']
    """

    def decorate(cls: Class) -> Class:
        hints = get_type_hints(settings)
        listed = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=OF_PRESET, annotation=hints[name])
            for name in declarations(settings)
        ]
        signature = inspect.signature(cls)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        cls.__signature__ = signature.replace(parameters=[*own, *listed])  # type: ignore[attr-defined]
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + _section("Other Parameters", settings)
        return cls

    return decorate


class _OfPreset:
    """What the signature shows as the default of a setting that is left out."""

    def __repr__(self) -> str:
        return "<as in the preset>"


OF_PRESET = _OfPreset()


def _section(title: str, cls: type) -> str:
    """A numpydoc section with all settings that a dataclass declares."""
    lines = ["", "", title, "-" * len(title)]
    for group, members in groups(cls).items():
        lines.append(f"**{group}**")
        for declared in members:
            lines.append(f"{declared.name} : {declared.type_text}, default {declared.default!r}")
            text = declared.description()
            lines += textwrap.wrap(text, _WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


def number_text(value: float) -> str:
    """A number as a person would write it.

    Examples
    --------
    >>> number_text(0.95), number_text(1e5), number_text(-3)
    ('0.95', '1e5', '-3')
    """
    if abs(value) < 1e5 or math.isinf(value):
        return f"{value:g}"
    mantissa, exponent = f"{value:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def _value_text(value: object) -> str:
    """A value in a message: short, unless that would show another value."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)
