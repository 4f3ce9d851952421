"""What a recording is of, how it was made, and how far it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...common.atomic import write_whole
from ...common.json_text import json_ready, json_text
from ...common.machine import machine

MANIFEST = "manifest.json"
FORMAT = "bdis-recording"
# What may change between the parts of a recording without a change in its frames.
_NO_MATTER = ("run.settings.threads",)


class Manifest:
    """The content of ``manifest.json``.

    Parameters
    ----------
    folder : of the recording
    run : all that decides what is recorded; it must be the same for all parts
    calibration : of the rectified cameras, or None
    """

    def __init__(self, folder: Path, run: dict[str, Any], calibration: dict[str, Any] | None):
        self._path = folder / MANIFEST
        self.content: dict[str, Any] = {
            "format": FORMAT,
            "state": "running",
            "reason": None,
            "frames": 0,
            "run": json_ready(run),
            "calibration": json_ready(calibration),
            "outputs": [],
            "machine": machine(),
            "parts": [],
        }

    def go_on(self, earlier: dict[str, Any]) -> None:
        """Take over what an earlier part says.

        Raises
        ------
        ValueError
            It was a recording of something else, or with other settings.
        """
        names = ("run", "calibration")
        before, now = (_flat({name: content[name] for name in names}) for content in (earlier, self.content))
        changed = [
            f"{name.removeprefix('run.')} was {_words(before.get(name))}, now {_words(now.get(name))}"
            for name in dict.fromkeys([*before, *now])
            if before.get(name) != now.get(name) and name not in _NO_MATTER
        ]
        if changed:
            raise ValueError(f"{self._path.parent} cannot be gone on with: {'; '.join(changed)}")
        self.content = {**earlier, **self.content, "parts": earlier["parts"]}

    def begin_part(self, first_frame: int) -> None:
        """A new part begins, after so many frames."""
        self.content["parts"].append({"started": _now(), "after_frames": first_frame})
        self.write()

    def write(self, **changes: Any) -> None:
        """Put it on the disk; ``figures`` are those of the part.

        Raises
        ------
        OSError
            It cannot be written; what was there is as it was.
        """
        part = self.content["parts"][-1]
        part["updated"] = _now()
        if "figures" in changes:
            part["figures"] = json_ready(changes.pop("figures"))
        self.content |= json_ready(changes)
        write_whole(self._path, f"{json_text(self.content)}\n".encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a recording.

    Raises
    ------
    ValueError
        There is none, or it is of something else.
    """
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"{folder} holds no recording to go on with: no {MANIFEST} ({error.strerror})") from None
    except ValueError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not about a recording of bdis run")
    return content


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """{"run": {"every": 1}} as {"run.every": 1}."""
    if not isinstance(value, dict):
        return {name: value}
    return {
        key: leaf for part, inner in value.items() for key, leaf in _flat(inner, f"{name}.{part}".strip(".")).items()
    }


def _words(value: Any) -> str:
    return "nothing" if value is None else repr(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
