"""The controls of the matcher's settings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..common.declared import Setting, declarations
from ..matching.matcher import StereoMatcher
from ..matching.settings import NOT_OF_PRESETS, PRESETS, Settings
from .html_text import notice

_FIRST = (
    "min_probability", "patch_size", "overlap", "smoothing", "min_disparity", "max_disparity", "dense",
)  # fmt: skip
_MORE = (
    "max_iterations", "finest_level", "slanted", "smoothing_edge", "smoothing_rounds", "outlier_distance",
    "label_level", "min_support", "min_valid", "min_island", "threads",
)  # fmt: skip
_DECLARED = declarations(Settings)
_SLIDER_STEPS = 100.5  # a slider is for a range of at most this many steps; one of 1000 could not be aimed


class SettingsControls:
    """Two folders of the page with the most useful settings.

    Label, hint, limits and step of a control come from the declaration of its setting.

    Parameters
    ----------
    gui : viser.GuiApi
    settings : Settings
        In use at the start; settings without a control keep these values.
    preset : str
        Name of the preset they began as.
    use : callable
        Called with a new matcher when a control changes; raises ValueError if it cannot be used.
    """

    def __init__(
        self,
        gui: Any,
        settings: Settings,
        preset: str,
        use: Callable[[StereoMatcher], None],
    ):
        self._base, self._use = settings, use
        self._lock = threading.Lock()
        self._newest = 0
        self._is_filling = False
        self._controls: dict[str, Any] = {}
        with gui.add_folder("Matching"):
            self._preset = gui.add_dropdown("Preset", tuple(PRESETS), initial_value=preset)
            self._preset.on_update(self._show_preset)
            self._add(gui, _FIRST)
            self._message = gui.add_html("")  # below, so that no field moves from under the mouse
        with gui.add_folder("More settings", expand_by_default=False):
            self._add(gui, _MORE)

    def _add(self, gui: Any, names: tuple[str, ...]) -> None:
        for name in names:
            control = _control(gui, _DECLARED[name], getattr(self._base, name))
            control.on_update(self._apply)
            self._controls[name] = control

    def _apply(self, event: Any) -> None:
        """Match with the values of the controls, or say which of them is wrong."""
        if self._is_filling:
            return
        self._newest += 1
        mine = self._newest
        with self._lock:
            if mine != self._newest:
                return  # a slider is still moving: only its last value counts
            try:
                values = {name: _value(name, control.value) for name, control in self._controls.items()}
                settings = replace(self._base, **values)
                self._use(StereoMatcher(settings))
            except Exception as error:  # whatever it is, the stream goes on with the settings before
                return self._show_error(f"{error}. The last good settings stay in use until this is corrected.")
            self._show_error(None)

    def _show_error(self, text: str | None) -> None:
        self._message.content = "" if text is None else notice(text, "error")

    def _show_preset(self, event: Any) -> None:
        """Fill all controls with the values of the chosen preset."""
        with self._lock:
            preset = PRESETS[self._preset.value]
            # What does not belong to a preset stays: it comes from the rig and the camera.
            kept = {name: getattr(self._base, name) for name in NOT_OF_PRESETS}
            self._base = replace(preset, **kept)
            self._is_filling = True
            try:
                for name, control in self._controls.items():
                    value = getattr(self._base, name)
                    control.value = _as_text(value) if _DECLARED[name].is_optional else value
            finally:
                self._is_filling = False
        self._apply(event)


def _control(gui: Any, declared: Setting, value: Any) -> Any:
    """The control that suits a setting."""
    label, hint = declared.label, declared.description(none="Empty")
    if declared.is_optional:  # a number field cannot be empty
        return gui.add_text(label, _as_text(value), hint=hint)
    if declared.kind is bool:
        return gui.add_checkbox(label, value, hint=hint)
    step, limits = declared.step or 1, declared.limits
    if declared.kind is float and limits is not None and (limits[1] - limits[0]) / step < _SLIDER_STEPS:
        return gui.add_slider(label, *limits, step, value, hint=hint)
    # No limits: a browser would replace a wrong value in silence, while Settings refuses it and says why.
    # A number can be typed with as many digits as the step has.
    return gui.add_number(label, value, step=step, hint=hint)


def _as_text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _value(name: str, shown: Any) -> Any:
    """The value of a setting that a control shows."""
    if not _DECLARED[name].is_optional:
        return shown
    text = shown.strip()
    try:
        number = float(text) if text else None
    except ValueError:
        raise ValueError(f"{name} must be a number or empty, but it is {text!r}") from None
    if number is not None and _DECLARED[name].kind is int and number.is_integer():
        return int(number)
    return number
