"""Small videos whose frames can be told apart: frame i is as bright as :func:`brightness` of i says."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np

from bdis.video.sources import BadFrame, Source

HEIGHT, WIDTH = 48, 64
FRAMES = 40  # of the common video
RIGHT_OFFSET = 3  # grey levels between the views of a frame


def brightness(index: int) -> int:
    """Grey level of the left view of a frame."""
    return 20 + 5 * (index % 40)


def index_of(view: np.ndarray) -> int:
    """The number of the frame (modulo 40) that a left view is of."""
    return round((float(np.mean(view)) - 20) / 5)


def flat_pair(index: int) -> tuple[np.ndarray, np.ndarray]:
    """Both views of frame ``index``, without any texture."""
    left = np.full((HEIGHT, WIDTH, 3), brightness(index), np.uint8)
    return left, left + np.uint8(RIGHT_OFFSET)


def write_video(
    path: Path,
    frames: int = 40,
    *,
    join: str = "side-by-side",
    pair: Callable[[int], tuple[np.ndarray, np.ndarray]] = flat_pair,
    fps: int = 20,
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    times: Callable[[int], Fraction] | None = None,
    gop: int = 8,
    options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
) -> Path:
    """Write frames as H.264 without visible loss; ``join`` is a layout, or "left" or "right" for one view."""
    import av

    with av.open(str(path), "w", options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=fps)
        stream.pix_fmt = pixel_format
        stream.codec_context.gop_size = gop
        tick = Fraction(1, fps if times is None else 1000)
        stream.codec_context.time_base = tick
        stream.options = {"crf": "4", "preset": "ultrafast", "bf": "2"} if options is None else options
        for index in range(frames):
            picture = joined(pair(index), join)
            if index == 0:
                stream.height, stream.width = picture.shape[:2]
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.time_base = tick
            frame.pts = index if times is None else round(times(index) / tick)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def joined(pair: tuple[np.ndarray, np.ndarray], join: str) -> np.ndarray:
    left, right = pair
    if join == "left":
        return left
    if join == "right":
        return right
    return np.concatenate(pair, axis=1 if join == "side-by-side" else 0)


def packets_of(path: Path) -> list[tuple[int, int]]:
    """Where the packets of a video lie in its file: position and size."""
    import av

    with av.open(str(path)) as container:
        return [(packet.pos, packet.size) for packet in container.demux(video=0) if packet.size]


def damage(path: Path, position: int, size: int) -> None:
    """Overwrite a part of a file with zeros."""
    content = bytearray(path.read_bytes())
    content[position : position + size] = bytes(size)
    path.write_bytes(content)


def read_all(source: Source) -> tuple[list, list[str]]:
    """All frames that can be had, and what was said about the others."""
    frames, complaints = [], []
    with source:
        while True:
            try:
                frame = source.read()
            except BadFrame as error:
                complaints.append(str(error))
                continue
            if frame is None:
                return frames, complaints
            frames.append(frame)
