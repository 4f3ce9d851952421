"""The manifest of a recording: its source, settings and progress, as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Any

from ...common.atomic import write_whole
from ...common.json_text import json_ready, json_text
from ...common.machine import machine
from ...common.reading import load_json

MANIFEST = "manifest.json"
FORMAT = "bdis-recording"
_KINDS: dict[str, type | UnionType] = {  # of what a recording is continued from
    "state": str, "run": dict, "calibration": dict | None, "parts": list, "frames": int,
}  # fmt: skip
# May differ when a recording is continued: the results do not depend on it.
_MAY_DIFFER = "run.settings.threads", "calibration.sigma_preset", "calibration.sigma_scale_range"
_ADDED = "run.source.content"  # manifests of earlier versions do not say it


class Manifest:
    """The content of ``manifest.json``.

    Parameters
    ----------
    folder : Path
        Folder of the recording.
    run : dict
        Everything that determines the results; must be the same for all parts of a recording.
    calibration : dict or None
        Of the rectified cameras.

    Attributes
    ----------
    content : dict
        What is written to the file.
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

    def continue_from(self, earlier: dict[str, Any]) -> None:
        """Take over the content of the manifest of an earlier part.

        Raises
        ------
        ValueError
            The earlier part had another source, calibration or other settings.
        """
        names = ("run", "calibration")
        before, now = (_flat({name: content[name] for name in names}) for content in (earlier, self.content))
        changed = [
            f"{name.removeprefix('run.')} was {_text(before.get(name))}, now {_text(now.get(name))}"
            for name in dict.fromkeys([*before, *now])
            if before.get(name) != now.get(name)
            and name not in _MAY_DIFFER
            and not (name.startswith(_ADDED) and name not in before)
        ]
        if changed:
            raise ValueError(f"the recording in {self._path.parent} cannot be continued: {'; '.join(changed)}")
        self.content = {**earlier, **self.content, "parts": earlier["parts"]}

    def begin_part(self, first_frame: int) -> None:
        """Add a new part, which begins after ``first_frame`` frames, and write the file."""
        self.content["parts"].append({"started": _now(), "after_frames": first_frame})
        self.write()

    def write(self, **changes: Any) -> None:
        """Write the file.

        Parameters
        ----------
        **changes
            New values of the content; ``figures`` (the statistics of the stream) belong to the current part.

        Raises
        ------
        OSError
            It cannot be written; the file stays as it was.
        """
        part = self.content["parts"][-1]
        part["updated"] = _now()
        if "figures" in changes:
            part["figures"] = json_ready(changes.pop("figures"))
        self.content |= json_ready(changes)
        write_whole(self._path, f"{json_text(self.content)}\n".encode())


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a recording.

    Parameters
    ----------
    folder : Path
        Folder of the recording.

    Returns
    -------
    dict
        Content of ``manifest.json``.

    Raises
    ------
    ValueError
        There is no manifest, or it is not one of ``bdis run``.
    """
    path = folder / MANIFEST
    try:
        content = load_json(path)
    except OSError as error:
        raise ValueError(f"{folder} has no recording to continue: no {MANIFEST} ({error.strerror})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} is not the manifest of a recording of bdis run")
    for name, kinds in _KINDS.items():
        if name not in content or not isinstance(content[name], kinds):
            raise ValueError(f"{path} is damaged: {name} is missing or of the wrong kind")
    return content


def finished_frames(manifest: dict[str, Any]) -> int | None:
    """How many frames a recording had when it was finished; None if it was not."""
    return int(manifest["frames"]) if manifest["state"] == "complete" else None


def finished_frames_in(folder: Path) -> int | None:
    """The same of the recording in a folder; None, too, if it has no manifest that can be read.

    >>> finished_frames_in(Path("no-such-folder"))
    """
    try:
        return finished_frames(read_manifest(folder))
    except ValueError:
        return None


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Flatten nested dictionaries: {"run": {"every": 1}} becomes {"run.every": 1}."""
    if not isinstance(value, dict):
        return {name: value}
    return {
        key: leaf for part, inner in value.items() for key, leaf in _flat(inner, f"{name}.{part}".strip(".")).items()
    }


def _text(value: Any) -> str:
    return "nothing" if value is None else repr(value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
