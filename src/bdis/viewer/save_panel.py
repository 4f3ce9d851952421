"""The buttons that save files: in the browser, or in a folder of the machine that runs the viewer."""

from __future__ import annotations

import contextlib
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..files.images import write_image
from ..files.ply import write_ply
from ..files.preview import write_preview
from .frame_maps import FrameMaps
from .page import Page, Panel

RENDER_TIMEOUT_S = 20.0  # for a browser to render its view
MESSAGE_S = 15.0
MOST_WAITING = 20  # files to be saved, with the one that is being written
BACKGROUND = np.array([20, 20, 20])  # of a screenshot, the same as that of the page
MOST_UNSENT_BYTES = 2**25  # of files that a browser has not taken yet
_TITLE_WIDTH = 110  # letters


class File(NamedTuple):
    """A file to be saved: begin and end of its name, what writes it, and a remark for the user."""

    kind: str
    ending: str
    write: Callable[[Path], None]
    remark: str = ""


class SavePanel(Panel):
    """The folder "Save".  The browser downloads the files, unless the page has a folder; there none is overwritten."""

    def __init__(self, page: Page):
        super().__init__(page)
        self._writing = threading.Lock()  # Matplotlib is not made for threads
        self._places = threading.Semaphore(MOST_WAITING)
        self._saves = {"Cloud": self._cloud, "Pictures": self._pictures, "Screenshot": self._screenshot}
        if page.rig is None:
            del self._saves["Cloud"]
        with page.gui.add_folder("Save"):
            buttons = page.gui.add_button_group(
                "This frame", tuple(self._saves),
                hint="PLY of all points in mm; PNG of the left image and its maps; PNG of the 3-D view in this "
                "browser.",
            )  # fmt: skip
        page.on_press(buttons, self._press)

    def close(self) -> None:
        """Wait for the file that is being made; no other follows."""
        self._writing.acquire()

    def _press(self, button: str, client: Any) -> None:
        """Save the frame that is displayed now, in a thread of its own."""
        maps = self._page.shown
        if maps is None:
            return self._say("There is no frame to save yet.")
        if not self._places.acquire(blocking=False):
            return self._say(f"Not saved: {MOST_WAITING} files are waiting to be saved already.")
        work = (self._saves[button], maps, client)
        threading.Thread(target=self._save, args=work, name="bdis-viewer-save", daemon=True).start()

    def _save(self, make: Callable[[FrameMaps, Any], File], maps: FrameMaps, client: Any) -> None:
        try:
            keep = self._download if self._page.folder is None else self._write
            self._say(keep(make(maps, client), maps, client), "done")
        except Exception as error:  # any error must be shown in the page, and must not end the viewer
            self._say(f"Not saved: {error}")
        finally:
            self._places.release()

    def _download(self, file: File, maps: FrameMaps, client: Any) -> str:
        """Let the browser in which the button was pressed download a file."""
        with self._writing, tempfile.TemporaryDirectory(prefix="bdis-") as folder:
            path = Path(folder, f"{file.kind}-{maps.frame.index:06d}.{file.ending}")
            file.write(path)
            content = path.read_bytes()
            _check_takes(client, content)
            client.send_file_download(path.name, content, save_immediately=True)
        return f"Sent {path.name} to the browser{file.remark}"

    def _write(self, file: File, maps: FrameMaps, client: Any) -> str:
        """Write a file into the folder of the page."""
        with self._new_file(file.kind, maps, file.ending) as path:
            file.write(path)
        return f"Saved {path}{file.remark}"

    def _say(self, text: str, kind: str = "error") -> None:
        self._page.show_message("saved", text, kind, MESSAGE_S)

    @contextlib.contextmanager
    def _new_file(self, kind: str, maps: FrameMaps, ending: str) -> Iterator[Path]:
        """The path of a file that nobody else has, neither another thread nor another viewer; one writes at a time."""
        stem, number = f"{kind}-{maps.frame.index:06d}", 1
        with self._writing:
            assert self._page.folder is not None
            folder = self._page.folder.resolve()
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{stem}.{ending}"
            while not _is_new(path):
                number += 1
                path = folder / f"{stem}-{number}.{ending}"
            try:
                yield path
            except BaseException:
                path.unlink(missing_ok=True)
                raise

    def _cloud(self, maps: FrameMaps, client: Any) -> File:
        assert maps.rig is not None
        cloud = maps.rig.cloud(maps.result, maps.frame.left, max_depth_mm=maps.max_depth_mm)
        return File("cloud", "ply", lambda path: write_ply(path, cloud), f": {len(cloud)} points")

    def _pictures(self, maps: FrameMaps, client: Any) -> File:
        texts = [f"frame {maps.frame.index}, {maps.frame.time_s:.2f} s", *self._page.warnings]
        title = "\n".join(line for text in texts for line in textwrap.wrap(text, _TITLE_WIDTH))

        def write(path: Path) -> None:
            write_preview(path, maps.frame.left, maps.result, maps.rig, max_depth_mm=maps.max_depth_mm, title=title)

        return File("pictures", "png", write)

    def _screenshot(self, maps: FrameMaps, client: Any) -> File:
        camera = client.camera
        size = camera.image_height, camera.image_width
        with self._page.guard.expecting_picture():
            rendered = client.get_render(*size, transport_format="png", timeout=RENDER_TIMEOUT_S)
        opacity = rendered[..., 3:] / 255
        picture = np.rint(rendered[..., :3] * opacity + BACKGROUND * (1 - opacity)).astype(np.uint8)
        return File("view", "png", lambda path: write_image(path, picture))


def _check_takes(client: Any, content: bytes) -> None:
    """Refuse a file for a browser that does not take those before it: they would fill the memory.

    Raises
    ------
    OSError
        What waits for the browser and the new file are more than ``MOST_UNSENT_BYTES``.
    """
    connection = client._websock_connection._state.message_buffer  # there is no public way to what waits
    with connection.buffer_lock:
        waiting = sum(len(getattr(each, "content", b"")) for each in connection.message_from_id.values())
    if connection.done or (waiting and waiting + len(content) > MOST_UNSENT_BYTES):
        raise OSError("the browser has not taken the files before this one yet")


def _is_new(path: Path) -> bool:
    """Create an empty file; False if there is one already."""
    try:
        path.open("xb").close()
    except FileExistsError:
        return False
    return True
