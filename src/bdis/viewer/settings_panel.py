"""The controls of the matcher's settings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from ..matching.matcher import StereoMatcher
from ..matching.settings import PRESETS, Settings
from .html_text import notice

_FIRST: dict[str, tuple[str, str]] = {
    "min_probability": ("Min. probability", "Pixels below are unknown, 0 to 1."),
    "patch_size": ("Patch size, px", "An even number from 4 to 16."),
    "overlap": ("Patch overlap", "Share of a patch covered by its neighbour, 0 to 0.95."),
    "smoothing": ("Smoothing", "How strongly neighbours are bound: 0 (no surface) to 1000."),
    "min_disparity": ("Min. disparity, px", "May be negative if the cameras are turned towards each other."),
    "max_disparity": ("Max. disparity, px", "Empty: as far as the image goes."),
    "dense": ("Fill every pixel", "Unknown pixels are filled from their surroundings."),
}
_MORE: dict[str, tuple[str, str]] = {
    "max_iterations": ("Search steps", "At most, 1 to 100."),
    "finest_level": ("Finest level", "1 to 4; a pixel of level n is 2^n image pixels wide."),
    "slanted": ("Slanted patches", "Search again with patches that lie on the surface."),
    "smoothing_edge": ("Edge, grey levels", "Difference between neighbours that weakens their bond to 1/e."),
    "smoothing_rounds": ("Surface rounds", "Rounds in which outliers lose their weight, 0 to 10."),
    "outlier_distance": ("Outlier, px", "Distance from the surface where a disparity keeps a quarter of its weight."),
    "sharpening": ("Sharpening", "Rounds in which pixels at depth edges choose their side, 0 to 10."),
    "min_support": ("Min. support", "Share of a pixel's weight that accepted patches must hold, 0 to 1."),
    "min_valid": ("Min. seen", "Share of a patch that both cameras must have seen, 0 to 1."),
    "min_island": ("Min. island", "Share of the picture; smaller pieces of the surface are removed, 0 to 1."),
    "threads": ("Threads", "The result does not depend on it."),
}
_SLIDERS = {
    "min_probability": (1.0, 0.01),
    "overlap": (0.95, 0.05),
    "min_support": (1.0, 0.01),
    "min_valid": (1.0, 0.05),
}
# The digits of a step are those that can be typed.
_STEPS = {
    "patch_size": 2,
    "smoothing": 0.5,
    "smoothing_edge": 0.5,
    "min_disparity": 0.5,
    "outlier_distance": 0.1,
    "min_island": 0.001,
}
_OPTIONAL = ("max_disparity",)  # no number is a value, too


class SettingsControls:
    """Folders of the page with the settings worth touching.

    Parameters
    ----------
    gui : viser's
    settings : in use at the start; what has no control stays as it is there
    preset : its name
    use : called with a new matcher; raises ValueError if it cannot be used
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
            self._preset.on_update(self._fill)
            self._add(gui, _FIRST)
            self._message = gui.add_html("")  # below, so that no field moves from under the mouse
        with gui.add_folder("More settings", expand_by_default=False):
            self._add(gui, _MORE)

    def _add(self, gui: Any, controls: dict[str, tuple[str, str]]) -> None:
        for name, (label, hint) in controls.items():
            value = getattr(self._base, name)
            if name in _OPTIONAL:
                control = gui.add_text(label, _as_text(value), hint=hint)
            elif isinstance(value, bool):
                control = gui.add_checkbox(label, value, hint=hint)
            elif name in _SLIDERS:
                top, step = _SLIDERS[name]
                control = gui.add_slider(label, 0.0, top, step, value, hint=hint)
            else:  # no limits here: the settings know what is wrong and say why
                control = gui.add_number(label, value, step=_STEPS.get(name, 1), hint=hint)
            control.on_update(self._apply)
            self._controls[name] = control

    def _apply(self, event: Any) -> None:
        """Use what the controls say, unless something is wrong with it."""
        if self._is_filling:
            return
        self._newest += 1
        mine = self._newest
        with self._lock:
            if mine != self._newest:
                return  # a slider on its way: the last of its values counts
            try:
                values = {name: _value(name, control.value) for name, control in self._controls.items()}
                settings = replace(self._base, **values)
                self._use(StereoMatcher(**asdict(settings)))
            except (ValueError, TypeError) as error:
                return self._complain(f"{error}. Until that is put right, the settings before stay in use.")
            self._complain(None)

    def _complain(self, text: str | None) -> None:
        """Tell what is wrong with a value until it is put right."""
        self._message.content = "" if text is None else notice(text, "error")

    def _fill(self, event: Any) -> None:
        """Another preset: all controls show its values."""
        with self._lock:
            preset = PRESETS[self._preset.value]
            self._base = replace(preset, variance=self._base.variance, threads=self._base.threads)
            self._is_filling = True
            try:
                for name, control in self._controls.items():
                    value = getattr(self._base, name)
                    control.value = _as_text(value) if name in _OPTIONAL else value
            finally:
                self._is_filling = False
        self._apply(event)


def _as_text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _value(name: str, shown: Any) -> Any:
    """What a control stands for."""
    if name not in _OPTIONAL:
        return shown
    text = shown.strip()
    try:
        return float(text) if text else None
    except ValueError:
        raise ValueError(f"{name} must be a number or nothing, but it is {text!r}") from None
