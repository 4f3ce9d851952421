"""PLY files of point clouds."""

import re
from typing import Any

import numpy as np

from ..cameras.cloud import Cloud
from ..common.atomic import Place, write_whole
from ..common.printable import printable
from ..common.reading import MAX_IMAGE_BYTES, read_limited

_PLY_TYPES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4",
    "float": "f4", "double": "f8", "float32": "f4", "float64": "f8",
}  # fmt: skip
_LONGEST_HEADER = 10_000  # bytes
_AXES, _COLORS = ("x", "y", "z"), ("red", "green", "blue")


def write_ply(path: Place, cloud: Cloud) -> None:
    """Write a point cloud as a binary PLY file.

    The vertices have the properties x, y and z in mm, then red, green, blue and sigma (mm) if the cloud has them.

    Parameters
    ----------
    path : str or path-like
        File to write; an existing file is replaced.
    cloud : Cloud
        Points to write.

    Raises
    ------
    OSError
        The file cannot be written; no partial file is left.

    See Also
    --------
    read_ply

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> cloud = Cloud(np.float32([[1, 2, 50]]), np.uint8([[200, 90, 80]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_ply(f"{folder}/cloud.ply", cloud)
    ...     read_ply(f"{folder}/cloud.ply").points.tolist()
    [[1.0, 2.0, 50.0]]
    """
    fields = [(name, "<f4") for name in _AXES]
    if cloud.colors is not None:
        fields += [(name, "u1") for name in _COLORS]
    if cloud.sigma_mm is not None:
        fields += [("sigma", "<f4")]
    vertices = np.empty(len(cloud), np.dtype(fields))
    for column, name in enumerate(_AXES):
        vertices[name] = cloud.points[:, column]
    if cloud.colors is not None:
        for column, name in enumerate(_COLORS):
            vertices[name] = cloud.colors[:, column]
    if cloud.sigma_mm is not None:
        vertices["sigma"] = cloud.sigma_mm
    properties = [f"property {'uchar' if kind == 'u1' else 'float'} {name}" for name, kind in fields]
    header = [
        "ply",
        "format binary_little_endian 1.0",
        "comment bdis: left camera, x right, y down, z forward, mm",
    ]
    header += [f"element vertex {len(cloud)}", *properties, "end_header", ""]
    write_whole(path, "\n".join(header).encode() + vertices.tobytes())


def read_ply(path: Place) -> Cloud:
    """Read the vertices of a binary PLY file.

    Parameters
    ----------
    path : str or path-like
        Binary PLY file, little-endian or big-endian, whose first element is ``vertex``.

    Returns
    -------
    Cloud
        Points as stored, ``colors`` if the file has red, green and blue, ``sigma_mm`` if it has sigma.  Other
        properties and elements are ignored.

    Raises
    ------
    ValueError
        The file is not a binary PLY file, is truncated, has no x, y and z, or has colors that are not uchar.
    OSError
        The file cannot be read.

    See Also
    --------
    write_ply

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_ply(f"{folder}/cloud.ply", Cloud(np.float32([[1, 2, 50]]), sigma_mm=np.float32([0.25])))
    ...     read_ply(f"{folder}/cloud.ply").sigma_mm.tolist()
    [0.25]
    """
    content = read_limited(path, MAX_IMAGE_BYTES)
    head = re.match(rb"ply\r?\n(.*?)end_header\r?\n", content[:_LONGEST_HEADER], re.DOTALL)
    if head is None:
        raise ValueError(f"{path} is not a PLY file, or is cut short: no 'ply' ... 'end_header'")
    count, dtype = _vertex_layout(head[1].decode("ascii", "replace"), path)
    body = content[head.end() :]
    needed = count * dtype.itemsize
    if len(body) < needed:
        raise ValueError(f"{path} is cut short: {count} vertices need {needed} bytes, it has {len(body)}")
    vertices = np.frombuffer(body, dtype, count)
    names = dtype.names or ()
    with np.errstate(over="ignore"):  # beyond float32 is as good as infinite
        points = np.stack([vertices[name] for name in _AXES], -1).astype(np.float32)
        sigma = vertices["sigma"].astype(np.float32) if "sigma" in names else None
    if not set(_COLORS) <= set(names):
        return Cloud(points, None, sigma)
    colors = np.stack([vertices[name] for name in _COLORS], -1)
    if colors.dtype != np.uint8:
        raise ValueError(f"{path} has colors of type {colors.dtype}; expected uchar, 0 to 255")
    return Cloud(points, colors, sigma)


def _vertex_layout(header: str, path: Place) -> tuple[int, np.dtype[Any]]:
    """Number and memory layout of the vertices, which must be the first element."""
    form = re.search(r"^format (\S+)", header, re.MULTILINE)
    order = {"binary_little_endian": "<", "binary_big_endian": ">"}.get(form[1] if form else "")
    if order is None:
        raise ValueError(f"{path} is PLY of format {printable(form[1]) if form else 'unknown'}; expected a binary one")
    element = re.search(r"element (\S+) (\d{1,12})\s*((?:property [^\n]*\n|comment [^\n]*\n)*)", header)
    if element is None or element[1] != "vertex":
        raise ValueError(f"{path} does not begin with vertices")
    fields = []
    for line in re.findall(r"property ([^\n]*)", element[3]):
        kind, _, name = line.strip().partition(" ")
        if kind not in _PLY_TYPES:
            raise ValueError(f"{path} has vertices with {f'property {line.strip()}'!r}, which is not supported")
        fields.append((name.strip(), order + _PLY_TYPES[kind]))
    if missing := [name for name in _AXES if name not in dict(fields)]:
        raise ValueError(f"{path} has vertices without {', '.join(missing)}")
    return int(element[2]), np.dtype(fields)
