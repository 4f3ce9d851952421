"""Whether a browser can be opened where the user sees it."""

import os
import sys


def has_screen() -> bool:
    """False if the browser would be a text browser in this terminal."""
    is_unix_desktop = sys.platform not in ("win32", "darwin")
    wanted = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return not is_unix_desktop or any(os.environ.get(name) for name in wanted)
