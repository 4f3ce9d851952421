"""Many recordings on many machines, over Dask; the only room that imports it.

>>> from bdis.cluster import map_recordings
"""

from .map_recordings import RecordingResult, map_recordings

__all__ = ["RecordingResult", "map_recordings"]
