"""The compiled renderer: arrays and scalars in, arrays out."""

from .paint import paint_mottle, paint_vessels
from .rays import mark_unseen, trace_view
from .shade import shade_view

__all__ = ["mark_unseen", "paint_mottle", "paint_vessels", "shade_view", "trace_view"]
