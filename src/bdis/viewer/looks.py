"""The controls of what is shown and in which colours."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..cameras.rig import Rig
from .maps import Look, Maps, unit_of
from .panels import Pictures

_STEPS = {"depth": 0.1, "disparity": 0.1, "sigma": 0.01}  # their digits are those that can be typed
FEWEST_POINTS, MOST_POINTS = 5_000, 400_000


class LookControls:
    """Folders of the page; ``look`` is what they say.

    Parameters
    ----------
    gui : viser's
    rig : None: there is no cloud
    names : of the maps there are
    pictures : beside which the colour ranges belong
    look : at the start
    changed : called after every change
    complain : called with what is wrong with a value; None: nothing is
    """

    def __init__(
        self,
        gui: Any,
        rig: Rig | None,
        names: tuple[str, ...],
        pictures: Pictures,
        look: Look,
        changed: Callable[[], None],
        complain: Callable[[str | None], None],
    ):
        self.look = look
        self._changed, self._complain = changed, complain
        self._lock = threading.Lock()
        self._has_fitted = False
        choice = pictures.choice
        choice.on_update(lambda event: self._set(shown=choice.value))
        self._is_turning: Any = None
        if rig is not None:
            with gui.add_folder("3-D view"):
                self._add_cloud_controls(gui, names)
        with pictures.tab, gui.add_folder("Colour ranges"):
            self._ranges = {
                name: gui.add_vector2(f"{name.capitalize()}, {unit_of(name, rig)}", (0.0, 1.0), step=_STEPS[name])
                for name in names
                if name != "probability"
            }
            fit = gui.add_button("Fit to this frame", hint="Takes the range of the frame that is shown, once.")
        for control in self._ranges.values():
            control.on_update(lambda event: self._take_ranges())
        self._wants_fit = threading.Event()
        fit.on_click(lambda event: self._ask_for_fit())

    def _add_cloud_controls(self, gui: Any, names: tuple[str, ...]) -> None:
        colors = ("image", *(name for name in ("depth", "sigma") if name in names))
        color = gui.add_dropdown("Colour", colors, initial_value="image")
        color.on_update(lambda event: self._set(cloud_color=color.value))
        size = gui.add_slider("Point size", 0.2, 5.0, 0.1, self.look.point_size, hint="In gaps between the points.")
        size.on_update(lambda event: self._set(point_size=size.value))
        density = gui.add_slider(
            "Points", FEWEST_POINTS, MOST_POINTS, 5_000, self.look.most_points,
            hint="The live cloud is thinned out to about so many; a saved one is not.",
        )  # fmt: skip
        density.on_update(lambda event: self._set(most_points=density.value))
        shown = "" if self.look.max_depth_mm is None else f"{self.look.max_depth_mm:g}"
        limit = gui.add_text("Max. depth, mm", shown, hint="What is further counts as unknown.  Empty: no limit.")
        limit.on_update(lambda event: self._take_limit(limit.value))
        self._is_turning = gui.add_checkbox("Turn", self.look.is_turning, hint="Until you take hold of the view.")
        self._is_turning.on_update(lambda event: self._set(is_turning=self._is_turning.value))

    def stop_turning(self) -> None:
        """Someone has taken hold of the view."""
        if self._is_turning is not None and self._is_turning.value:
            self._is_turning.value = False

    def fit(self, maps: Maps) -> None:
        """Fix the colours by the first frame that tells something, and when the button asks for it."""
        if self._has_fitted and not self._wants_fit.is_set():
            return
        self._wants_fit.clear()
        if not maps.result.known.any():
            return
        self._has_fitted = True
        ranges = {name: maps.fitted_range(name) for name in self._ranges}
        with self._lock:
            self.look = replace(self.look, ranges=ranges)
        for name, control in self._ranges.items():
            control.value = ranges[name]

    def _ask_for_fit(self) -> None:
        self._wants_fit.set()
        self._changed()

    def _set(self, **changes: Any) -> None:
        with self._lock:
            self.look = replace(self.look, **changes)
        self._changed()

    def _take_ranges(self) -> None:
        ranges = {name: control.value for name, control in self._ranges.items()}
        for name, (low, high) in ranges.items():
            if not low < high:
                return self._complain(f"the colours of {name} go from {low:g} to {high:g}; the first must be less")
        self._complain(None)
        if ranges != self.look.ranges:
            self._set(ranges=ranges)

    def _take_limit(self, text: str) -> None:
        try:
            limit = float(text) if text.strip() else None
        except ValueError:
            return self._complain(f"max. depth must be a number of mm or nothing, but it is {text!r}")
        if limit is not None and not limit > 0:
            return self._complain(f"max. depth must be above 0 mm, but it is {limit:g}")
        self._complain(None)
        self._set(max_depth_mm=limit)
