"""Foxglove's schemas read from their bytes, by the numbers of their published fields."""

import numpy as np

from .protobuf import doubles, fields_of


def read_image(message):
    """Time in ns, coordinate frame, encoding and pixels of a foxglove.RawImage."""
    fields = fields_of(message)
    width, height, encoding = fields[2][0], fields[3][0], fields[4][0].decode()
    dtype, channels = {"rgb8": ("u1", 3), "mono8": ("u1", 1), "32FC1": ("<f4", 1)}[encoding]
    assert fields[5][0] == width * channels * np.dtype(dtype).itemsize  # step
    pixels = np.frombuffer(fields[6][0], dtype).reshape((height, width, 3) if channels == 3 else (height, width))
    return time_ns(fields[1][0]), fields[7][0].decode(), encoding, pixels


def read_points(message):
    """Points of a foxglove.PointCloud, as an array with named fields."""
    fields = fields_of(message)
    stride, names, kinds, offsets = fields[4][0], [], [], []
    for field in map(fields_of, fields[5]):
        names.append(field[1][0].decode())
        offsets.append(field.get(2, [0])[0])
        kinds.append({1: "u1", 7: "<f4"}[field[3][0]])
    layout = np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": stride})
    return np.frombuffer(fields[6][0], layout)


def read_calibration(message):
    """Width, height and the matrices K and P of a foxglove.CameraCalibration."""
    fields = fields_of(message)
    return fields[2][0], fields[3][0], doubles(fields, 6), doubles(fields, 8)


def time_ns(message):
    """Of a google.protobuf.Timestamp."""
    fields = fields_of(message)
    return fields.get(1, [0])[0] * 10**9 + fields.get(2, [0])[0]
