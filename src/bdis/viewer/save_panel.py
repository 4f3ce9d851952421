"""The buttons that save files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files.images import write_image
from ..files.ply import write_ply
from ..files.preview import write_preview
from .frame_maps import FrameMaps
from .page import Page, Panel

RENDER_TIMEOUT_S = 20.0  # for a browser to render its view
MESSAGE_S = 15.0
BACKGROUND = np.array([20, 20, 20])  # of a screenshot, the same as that of the page


class SavePanel(Panel):
    """The folder "Save"; files are never overwritten."""

    def __init__(self, page: Page):
        super().__init__(page)
        save = {"Cloud": self._save_cloud, "Pictures": self._save_pictures, "Screenshot": self._save_screenshot}
        if page.rig is None:
            del save["Cloud"]
        with page.gui.add_folder("Save"):
            buttons = page.gui.add_button_group(
                "This frame", tuple(save),
                hint="PLY of all points in mm; PNG of the left image and its maps; PNG of the 3-D view in this "
                "browser.",
            )  # fmt: skip
        buttons.on_click(lambda event: self._press(save[event.target.value], event.client))

    def _press(self, save: Callable[[FrameMaps, Any], str], client: Any) -> None:
        maps = self._page.shown
        if maps is None:
            return self._page.show_message("saved", "There is no frame to save yet.", seconds=MESSAGE_S)
        try:
            self._page.folder.mkdir(parents=True, exist_ok=True)
            self._page.show_message("saved", f"Saved {save(maps, client)}", "done", MESSAGE_S)
        except Exception as error:  # any error must be shown in the page, and must not end the viewer
            self._page.show_message("saved", f"Not saved: {error}", seconds=MESSAGE_S)

    def _path(self, kind: str, maps: FrameMaps, ending: str) -> Path:
        """The path of a new file."""
        folder = self._page.folder
        stem, number = f"{kind}-{maps.frame.index:06d}", 1
        path = folder / f"{stem}.{ending}"
        while path.exists():
            number += 1
            path = folder / f"{stem}-{number}.{ending}"
        return path.resolve()

    def _save_cloud(self, maps: FrameMaps, client: Any) -> str:
        assert maps.rig is not None
        cloud = maps.rig.cloud(maps.result, maps.frame.left, max_depth_mm=maps.max_depth_mm)
        path = self._path("cloud", maps, "ply")
        write_ply(path, cloud)
        return f"{path}: {len(cloud)} points"

    def _save_pictures(self, maps: FrameMaps, client: Any) -> str:
        path = self._path("pictures", maps, "png")
        title = f"frame {maps.frame.index}, {maps.frame.time_s:.2f} s"
        write_preview(path, maps.frame.left, maps.result, maps.rig, max_depth_mm=maps.max_depth_mm, title=title)
        return str(path)

    def _save_screenshot(self, maps: FrameMaps, client: Any) -> str:
        camera = client.camera
        size = camera.image_height, camera.image_width
        rendered = client.get_render(*size, transport_format="png", timeout=RENDER_TIMEOUT_S)
        path = self._path("view", maps, "png")
        opacity = rendered[..., 3:] / 255
        write_image(path, np.rint(rendered[..., :3] * opacity + BACKGROUND * (1 - opacity)).astype(np.uint8))
        return str(path)
