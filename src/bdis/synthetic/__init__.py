"""Rendered stereo pairs with exact depth, with nothing to download."""

from .options import FrameOptions, RenderOptions, SequenceOptions
from .pair import RenderedPair
from .renderer import check_scene, render
from .scenes import SCENES

__all__ = ["SCENES", "FrameOptions", "RenderOptions", "RenderedPair", "SequenceOptions", "check_scene", "render"]
