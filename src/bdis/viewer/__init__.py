"""The browser viewer: image, maps and a coloured point cloud of a stream, with the settings of the matcher.

``viewer.py`` runs the page, ``cloud_view.py`` and ``map_view.py`` draw its centre, and each ``*_panel.py`` is one group
of controls around it.  A new panel is a :class:`Panel` in a file of its own and a line in ``PANELS`` of ``viewer.py``.
``access.py`` decides who may open the page, ``guard.py`` and ``control_values.py`` what a browser may send, and
``pair_check.py`` finds pictures that are no pair.
"""

from .viewer import Viewer

__all__ = ["Viewer"]
