"""Rendered stereo pairs with exact depth: nothing to download."""

from .renderer import SCENES, RenderedPair, RenderOptions, check_scene, render

__all__ = ["SCENES", "RenderOptions", "RenderedPair", "check_scene", "render"]
