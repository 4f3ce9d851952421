"""The buttons that write files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files.images import write_image
from ..files.ply import write_ply
from ..files.preview import write_preview
from .maps import Maps

PATIENCE_S = 20.0  # for a browser to draw its view once more
BACKGROUND = np.array([20, 20, 20])  # of a screenshot, as the page has it


class SaveButtons:
    """A folder of the page.

    Parameters
    ----------
    gui : viser's
    folder : where files go; made when it is needed
    maps : gives what is shown at the moment, None before the first frame
    tell : called with words and whether it went well
    """

    def __init__(
        self,
        gui: Any,
        folder: Path,
        maps: Callable[[], Maps | None],
        tell: Callable[[str, bool], None],
        has_depth: bool,
    ):
        self._folder, self._maps, self._tell = folder, maps, tell
        save = {"Cloud": self._save_cloud, "Pictures": self._save_pictures, "Screenshot": self._save_screenshot}
        if not has_depth:
            del save["Cloud"]
        with gui.add_folder("Save"):
            buttons = gui.add_button_group(
                "This frame", tuple(save),
                hint="PLY of all points in mm; PNG of the left image and its maps; PNG of this browser's 3-D view.",
            )  # fmt: skip
        buttons.on_click(lambda event: self._press(save[event.target.value], event.client))

    def _press(self, save: Callable[[Maps, Any], str], client: Any) -> None:
        maps = self._maps()
        if maps is None:
            return self._tell("nothing to save yet", False)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._tell(save(maps, client), True)
        except Exception as error:  # whatever it is, it must be seen in the page and not end the viewer
            self._tell(f"not saved: {error}", False)

    def _path(self, kind: str, maps: Maps, ending: str) -> Path:
        """A name that is not taken."""
        stem, number = f"{kind}-{maps.frame.index:06d}", 1
        path = self._folder / f"{stem}.{ending}"
        while path.exists():
            number += 1
            path = self._folder / f"{stem}-{number}.{ending}"
        return path.resolve()

    def _save_cloud(self, maps: Maps, client: Any) -> str:
        assert maps.rig is not None
        cloud = maps.rig.cloud(maps.result, maps.frame.left, max_depth_mm=maps.max_depth_mm)
        path = self._path("cloud", maps, "ply")
        write_ply(path, cloud)
        return f"{path}: {len(cloud)} points"

    def _save_pictures(self, maps: Maps, client: Any) -> str:
        path = self._path("pictures", maps, "png")
        title = f"frame {maps.frame.index}, {maps.frame.time_s:.2f} s"
        write_preview(path, maps.frame.left, maps.result, maps.rig, max_depth_mm=maps.max_depth_mm, title=title)
        return str(path)

    def _save_screenshot(self, maps: Maps, client: Any) -> str:
        camera = client.camera
        size = camera.image_height, camera.image_width
        drawn = client.get_render(*size, transport_format="png", timeout=PATIENCE_S)
        path = self._path("view", maps, "png")
        opacity = drawn[..., 3:] / 255
        write_image(path, np.rint(drawn[..., :3] * opacity + BACKGROUND * (1 - opacity)).astype(np.uint8))
        return str(path)
