"""Point clouds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Cloud:
    """Points in the coordinate frame of the left camera: x to the right, y down, z forward, in mm.

    Attributes
    ----------
    points : ndarray of float32, shape (n, 3)
        Coordinates in mm.
    colors : ndarray of uint8, shape (n, 3), or None
        RGB colour of each point.
    sigma_mm : ndarray of float32, shape (n,), or None
        Standard deviation of each point's depth in mm; NaN where it is unknown.

    Raises
    ------
    ValueError
        Arrays of other shapes or of different lengths.

    See Also
    --------
    Rig.cloud : The point cloud of a stereo result.
    write_ply, read_ply : Point clouds in files.

    Examples
    --------
    >>> import numpy as np
    >>> cloud = Cloud(np.zeros((5, 3), np.float32))
    >>> len(cloud)
    5
    >>> cloud
    Cloud(5 points)
    """

    points: NDArray[np.float32]
    colors: NDArray[np.uint8] | None = None
    sigma_mm: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        count = len(self.points)
        for name, shape in (("points", (count, 3)), ("colors", (count, 3)), ("sigma_mm", (count,))):
            array = getattr(self, name)
            if array is not None and np.shape(array) != shape:
                raise ValueError(f"{name} has shape {np.shape(array)}; expected {shape}")

    def __repr__(self) -> str:
        parts = [f"{len(self)} points"]
        parts += ["with colours"] * (self.colors is not None) + ["with sigma"] * (self.sigma_mm is not None)
        return f"Cloud({', '.join(parts)})"

    def __len__(self) -> int:
        return len(self.points)
