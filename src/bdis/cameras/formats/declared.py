"""What a file with OpenCV's names says beside its matrices: of which kind the lenses are, and the unit of length."""

import re
from collections.abc import Mapping
from typing import Any

from .base import MILLIMETRES, Unit
from .matrices import short_repr
from .spellings import plain, shown

# Distortion models.  The first ones are OpenCV's usual one with 4 to 14 coefficients; "radtan" is Kalibr's name for it.
PINHOLE = ("plumb_bob", "rational_polynomial", "thin_prism", "radtan")
FISHEYE = ("equidistant", "fisheye")

# Plain names and plain words, see spellings.plain.
_SIDE = "(1|2|left|right|l|r)?"
_DISTORTION_MODEL = re.compile(f"{_SIDE}(distortion|lens)(model|type){_SIDE}")
_CAMERA_MODEL = re.compile(f"{_SIDE}camera(model|type){_SIDE}")
_IS_FISHEYE = re.compile(f"{_SIDE}(is|use)?fisheye(model)?{_SIDE}")
_XI = re.compile(f"{_SIDE}xi{_SIDE}")
_UNIT = re.compile("(length|translation|baseline|world|measurement|t)?units?|unitof(length|translation|t)")
_PINHOLE_WORDS = {*map(plain, PINHOLE), "brown", "brownconrady", "none", "opencv", "perspective", "pinhole",
                  "radialtangential", "standard"}  # fmt: skip
_FISHEYE_WORDS = {*map(plain, FISHEYE), "kannalabrandt", "kannalabrandt4", "kb4", "opencvfisheye"}
_OTHER_WORDS = re.compile("omni.*|mei|e?ucm|unified.*|catadioptric|doublesphere|ds|fov|ocam.*|scaramuzza")
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")
_UNIT_WORDS: dict[str, Unit] = {
    "mm": "mm", "millimeter": "mm", "millimetre": "mm", "cm": "cm", "centimeter": "cm", "centimetre": "cm",
    "m": "m", "meter": "m", "metre": "m",
}  # fmt: skip
_WHAT_TO_DO = "calibrate with OpenCV's pinhole or fisheye model, or rectify the images with what made the file"


def says_fisheye(values: Mapping[str, Any]) -> bool | None:
    """Whether the lenses are said to be fisheyes, by a name such as ``distortion_model`` or ``fisheye``.

    Parameters
    ----------
    values : mapping
        Names and values of a file.

    Returns
    -------
    bool or None
        None if nothing is said.

    Raises
    ------
    ValueError
        The lenses are of a kind that is not known or cannot be rectified, or what is said contradicts itself.

    Examples
    --------
    >>> says_fisheye({"K1": [], "distortion_model": "fisheye"}), says_fisheye({"fisheye": 0}), says_fisheye({"K1": []})
    (True, False, None)
    """
    said: dict[str, bool] = {}
    for name, value in values.items():
        if value is None:
            continue
        if _XI.fullmatch(plain(name)):
            raise ValueError(
                f"{shown(name)} is of OpenCV's omnidirectional model, which bdis cannot use; {_WHAT_TO_DO}"
            )
        if (kind := _kind(name, value)) is not None:
            said[name] = kind
    if len(set(said.values())) > 1:
        raise ValueError(
            f"{' and '.join(map(shown, said))} differ: one says that a lens is a fisheye, the other that one is none, "
            f"and bdis cannot use a pair of both; {_WHAT_TO_DO}"
        )
    return next(iter(said.values()), None)


def _kind(name: str, value: Any) -> bool | None:
    """Whether one value says that a lens is a fisheye; None if it says nothing of that."""
    key, word = plain(name), plain(str(value))
    if _IS_FISHEYE.fullmatch(key):
        if word not in _TRUE + _FALSE:
            raise ValueError(f"{shown(name)} must be 0 or 1, but it is {short_repr(value)}")
        return word in _TRUE
    is_distortion = _DISTORTION_MODEL.fullmatch(key) is not None
    if not is_distortion and not _CAMERA_MODEL.fullmatch(key):
        return None
    if word in _FISHEYE_WORDS:
        return True
    if is_distortion and word in _PINHOLE_WORDS:
        return False
    if is_distortion or _OTHER_WORDS.fullmatch(word):
        expected = f"expected {', '.join(PINHOLE)}, or of a fisheye {' or '.join(FISHEYE)}"
        raise ValueError(f"{shown(name)} is {short_repr(value)}, which bdis cannot use; {expected}: {_WHAT_TO_DO}")
    return None  # pinhole, which may have the distortion of a fisheye, as in Kalibr; or what a shop calls the camera


def unit_stated(values: Mapping[str, Any]) -> Unit | None:
    """The unit of length that is said, by a name such as ``unit``.

    Parameters
    ----------
    values : mapping
        Names and values of a file.

    Returns
    -------
    {"mm", "cm", "m"} or None
        None if nothing is said.

    Raises
    ------
    ValueError
        It is another unit, or there are two.

    Examples
    --------
    >>> unit_stated({"unit": "cm"}), unit_stated({"length_unit": "metres"}), unit_stated({"T": [-5, 0, 0]})
    ('cm', 'm', None)
    """
    said = {name: value for name, value in values.items() if value is not None and _UNIT.fullmatch(plain(name))}
    units = {_UNIT_WORDS.get(re.sub("(?<=metre|meter)s$", "", plain(str(value)))) for value in said.values()}
    if not units:
        return None
    if len(units) > 1 or None in units:
        stated = ", ".join(f"{shown(name)} is {short_repr(value)}" for name, value in said.items())
        raise ValueError(f"{stated}; expected {', '.join(MILLIMETRES)}: say the unit of the file (unit=..., --unit)")
    return units.pop()
