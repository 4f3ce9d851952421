"""Other programs that get every depth frame as soon as it is matched, if they have time for it."""

from .live_output import LiveOutput, NobodyListens

__all__ = ["LiveOutput", "NobodyListens"]
