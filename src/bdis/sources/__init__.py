"""Where stereo frames come from: one file per kind, all read through one protocol."""

from __future__ import annotations

from ..datasets import RENDER, parse_scene
from .rendered import RenderedSource
from .source import BadFrame, NumberedSource, Source, SourceLost, StereoFrame

__all__ = ["BadFrame", "NumberedSource", "RenderedSource", "Source", "SourceLost", "StereoFrame", "open_source"]


def open_source(
    where: str,
    right: str | None = None,
    *,
    layout: str | None = None,
    squeezed: bool = False,
    deinterlace: bool = False,
    fps: float | None = None,
    color: bool = True,
) -> Source:
    """Find out what ``where`` is; nothing is read before the first frame is asked for."""
    scene, options = parse_scene(where.removeprefix(RENDER))
    return RenderedSource(scene, **options)
