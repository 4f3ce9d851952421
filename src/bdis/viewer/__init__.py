"""The browser viewer: image, maps and a coloured cloud of a stream, with its settings at hand."""

from .viewer import Viewer

__all__ = ["Viewer"]
