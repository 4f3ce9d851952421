"""Records for kernels, as tests need them."""

import numpy as np

from bdis.matching import kernels
from bdis.matching.kernels.layout import PAD, Map, Maps, image_stride, map_stride
from bdis.matching.kernels.pyramid import ByteImage, FloatImage, Image, Seen
from bdis.matching.memory import Arena
from bdis.matching.variational import whole_spans
from bdis.vector.crew import Threads


def alone():
    """A crew of one thread."""
    return Threads(1)._leader


def padded(height, width, dtype=np.int16):
    """Room for an image of a level."""
    return np.zeros((height, image_stride(width)), dtype)


def level_image(height, width):
    return Image(pixels=padded(height, width), width=width)


def level_seen(height, width):
    return Seen(mask=padded(height, width, np.uint8), width=width)


def seen_of(mask):
    """What the user says was seen of an image."""
    seen = level_seen(*mask.shape)
    seen.mask[:, PAD : PAD + seen.width] = mask
    return seen


def given(image):
    """An image as the user gave it."""
    if image.dtype == np.uint8:
        return ByteImage(pixels=image.reshape(len(image), -1))
    return FloatImage(pixels=image, factor=1000.0, white=4080)


def with_spare_columns(values):
    """A map as the kernels store it: float32 with spare columns on the right (filled with junk)."""
    height, width = values.shape
    out = np.full((height, map_stride(width)), 1e9, np.float32)
    out[:, :width] = values
    return out


def map_of(values):
    return Map(values=with_spare_columns(values), width=values.shape[1])


def maps_of(disparity, probability):
    return Maps(
        disparity=with_spare_columns(disparity),
        probability=with_spare_columns(probability),
        width=disparity.shape[1],
    )


def with_padding(values):
    """An image or mask of a level as the kernels store it: its border repeats on both sides."""
    width = values.shape[1]
    return np.ascontiguousarray(np.pad(values, ((0, 0), (PAD, image_stride(width) - PAD - width)), "edge"))


def found_spans(known, threads=1):
    """The spans of a result."""
    height, width = known.disparity.shape[0], known.width
    spans = whole_spans(height, width, Arena(0))
    Threads(threads).run(lambda crew: kernels.find_spans(known, spans, crew))
    return spans
