"""Public data sets, one module per family, all read through one interface.

``for frame in open_dataset(path).frames()``: left, right, rig, reference depth or disparity, masks and names; each
frame is read when it is reached.  Folder layouts are those in which the sets are published; each module describes its
own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import authors, hamlyn, kitti, middlebury, rendered, scared, servct, stereomis
from . import folder as pair_folder
from .frame import Dataset, Entry, Frame, WrongFolder
from .rendered import frame_of, on_the_fly, parse_scene, rig_of, with_baseline, write_rendered

__all__ = [
    "KINDS",
    "RENDER",
    "Dataset",
    "Entry",
    "Frame",
    "Kind",
    "WrongFolder",
    "frame_of",
    "known_options",
    "open_dataset",
    "parse_scene",
    "rig_of",
    "with_baseline",
    "write_rendered",
]


@dataclass(frozen=True)
class Kind:
    """A folder layout.

    Attributes
    ----------
    looked_for : str
        The files that it consists of, for messages.
    detect : callable
        Whether a folder has this layout.
    load : callable
        Opens a folder; its keyword arguments are the options of this kind.
    """

    looked_for: str
    detect: Callable[[Path], bool]
    load: Callable[..., Dataset]


# In the order in which they are tried; `folder` last, as other layouts would match it too.
KINDS: dict[str, Kind] = {
    "rendered": Kind(rendered.LOOKED_FOR, rendered.detect, rendered.load),
    "authors": Kind(authors.LOOKED_FOR, authors.detect, authors.load),
    "serv-ct": Kind(servct.LOOKED_FOR, servct.detect, servct.load),
    "scared": Kind(scared.LOOKED_FOR, scared.detect, scared.load),
    "stereomis": Kind(stereomis.LOOKED_FOR, stereomis.detect, stereomis.load),
    "hamlyn": Kind(hamlyn.LOOKED_FOR, hamlyn.detect, hamlyn.load),
    "middlebury": Kind(middlebury.LOOKED_FOR, middlebury.detect, middlebury.load),
    "kitti": Kind(kitti.LOOKED_FOR, kitti.detect, kitti.load),
    "folder": Kind(pair_folder.LOOKED_FOR, pair_folder.detect, pair_folder.load),
}
RENDER = "render:"


def open_dataset(where: str | Path, kind: str | None = None, **options: Any) -> Dataset:
    """Open a data set; frames are read later, one at a time.

    Parameters
    ----------
    where : str or Path
        Its folder, or "render:SCENE" for frames that are rendered when they are read, with options after commas:
        "render:colon,frames=8,seed=1,smoke=0.3".
    kind : str or None
        A key of ``KINDS``; None to recognise it by its files.
    **options
        Options of that kind, such as ``decoding="published"`` of the authors' set or ``baseline_mm=5.3`` of Hamlyn.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        Not a known data set, with the files that were looked for; or an unknown kind or option.

    Examples
    --------
    >>> data = open_dataset("render:plane,frames=2,height=32,width=48")
    >>> [frame.name for frame in data.frames()]
    ['000000', '000001']
    """
    text = str(where)
    if text.startswith(RENDER):
        scene, scene_options = parse_scene(text.removeprefix(RENDER))
        return on_the_fly(scene, **scene_options)
    if kind is not None and kind not in KINDS:
        raise ValueError(f"unknown kind of data set {kind!r}; there are {', '.join(KINDS)}")
    folder = Path(where)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise WrongFolder(f"{folder} {what}; expected the folder of a data set, or render:SCENE")
    if kind is None:
        kind = next((name for name, each in KINDS.items() if each.detect(folder)), None)
    if kind is None:
        looked_for = "; ".join(f"{name}: {each.looked_for}" for name, each in KINDS.items())
        raise WrongFolder(f"{folder} is no data set bdis knows. It looked for {looked_for}")
    if unknown := sorted(set(options) - set(known_options(kind))):
        known = ", ".join(known_options(kind)) or "none"
        raise ValueError(f"data sets of kind {kind} have no option {', '.join(unknown)}; there are: {known}")
    found = KINDS[kind].load(folder, **options)
    if not len(found):
        raise WrongFolder(f"{folder} ({kind}) holds no frames; looked for {KINDS[kind].looked_for}")
    return found


def known_options(kind: str) -> list[str]:
    """The names of the options of a kind of data set.

    Parameters
    ----------
    kind : str
        A key of ``KINDS``.

    Returns
    -------
    list of str

    Examples
    --------
    >>> known_options("hamlyn")
    ['baseline_mm']
    """
    return [name for name in inspect.signature(KINDS[kind].load).parameters if name != "folder"]
