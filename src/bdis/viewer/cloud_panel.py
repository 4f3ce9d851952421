"""The controls of the 3-D view."""

from __future__ import annotations

from typing import Any

from .display_options import MAX_POINT_SIZE, MAX_POINTS, MIN_POINT_SIZE, MIN_POINTS
from .page import Page, Panel


class CloudPanel(Panel):
    """The folder "3-D view"; without a rig there is none."""

    def __init__(self, page: Page):
        super().__init__(page)
        self._turning: Any = None
        if page.rig is None:
            return
        gui, display = page.gui, page.display
        with gui.add_folder("3-D view"):
            colors = ("image", *(name for name in ("depth", "sigma") if name in page.map_names))
            color = gui.add_dropdown("Colour", colors, initial_value="image")
            page.on_change(color, lambda event: page.change_display(cloud_color=color.value))
            size = gui.add_slider(
                "Point size", MIN_POINT_SIZE, MAX_POINT_SIZE, 0.1, display.point_size,
                hint="1: as large as the distance between points.",
            )  # fmt: skip
            page.on_change(size, lambda event: page.change_display(point_size=size.value))
            points = gui.add_slider(
                "Points", MIN_POINTS, MAX_POINTS, 5_000, display.most_points,
                hint="The displayed cloud is reduced to about this many points; a saved one has them all.",
            )  # fmt: skip
            page.on_change(points, lambda event: page.change_display(most_points=points.value))
            limit = gui.add_text(
                "Max. depth, mm",
                "" if display.max_depth_mm is None else f"{display.max_depth_mm:g}",
                hint="Pixels that are farther away are shown as unknown.  Empty: no limit.",
            )
            page.on_change(limit, lambda event: self._set_limit(limit.value))
            self._turning = gui.add_checkbox("Turn", display.is_turning, hint="Until you move the view.")
            page.on_change(self._turning, lambda event: page.change_display(is_turning=self._turning.value))

    def view_moved(self) -> None:
        """Stop turning."""
        if self._turning is not None and self._turning.value:
            self._turning.value = False

    def _set_limit(self, text: str) -> None:
        try:
            limit = float(text) if text.strip() else None
        except ValueError:
            raise ValueError(f"the max. depth is {text!r}; expected a number of mm above 0, or nothing") from None
        self._page.change_display(max_depth_mm=limit)
