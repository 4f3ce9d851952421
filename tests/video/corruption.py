"""Videos with damage: the formats that are damaged, what is done to them, and whether all frames are accounted for."""

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bdis.video.sources import BadFrame, open_source
from tests.video.videos import HEIGHT, WIDTH, write_video

FRAMES = 90
H264 = {"crf": "12", "preset": "ultrafast", "bf": "2"}
VP8 = {"codec": "libvpx", "options": {"b": "1M", "deadline": "good", "cpu-used": "4"}}
FORMATS = {
    "ts": {},
    "avi": {"codec": "mjpeg", "options": {}, "pixel_format": "yuvj420p"},
    "mkv": {},
    "mp4": {"container_options": {"movflags": "faststart"}},
    "mov": {"container_options": {"movflags": "faststart"}},
    "webm": VP8,
    "ogg": VP8,
}
_NOISE = np.random.default_rng(0).integers(0, 150, (HEIGHT, WIDTH, 3), np.uint8)


def moving(index):
    """Both views of a frame with so much texture that damage hits something."""
    view = np.roll(_NOISE, index, axis=1) + np.uint8(index % 100)
    return view, view


def write_whole_videos(folder: Path) -> dict[str, Path]:
    """An intact video of each format."""
    return {
        ending: write_video(folder / f"whole.{ending}", FRAMES, pair=moving, **{"options": H264, **options})
        for ending, options in FORMATS.items()
    }


def corrupted(content: bytes, seed: int) -> bytes:
    """The content with one kind of damage, anywhere but in the first part, which may be all that tells the format."""
    rng, damaged, size = random.Random(seed), bytearray(content), len(content)
    begin = rng.randrange(size // 20, size)
    end = min(size, begin + rng.randrange(100, size // 8))
    kind = seed % 5
    if kind == 0:
        damaged[begin:end] = bytes(end - begin)
    elif kind == 1:
        damaged[begin:end] = rng.randbytes(end - begin)
    elif kind == 2:
        for _ in range(rng.randrange(1, 60)):
            damaged[rng.randrange(size // 50, size)] ^= 1 << rng.randrange(8)
    elif kind == 3:
        del damaged[begin:]
    else:
        del damaged[begin:end]
    return bytes(damaged)


@dataclass
class Account:
    """What became of the frames of a video."""

    promised: int | None
    delivered: int
    lost: int
    said: list[str]

    @property
    def is_settled(self) -> bool:
        """Every promised frame was delivered or counted, or it is said that the promise is not reliable."""
        is_told = any("not reliable" in text for text in self.said)
        return self.promised is not None and (self.promised == self.delivered + self.lost or is_told)


def account_of(path: Path) -> Account:
    """Read a video to its end."""
    delivered, lost, said = 0, 0, []
    with open_source(path) as source:
        promised = source.length
        while True:
            try:
                frame = source.read()
            except BadFrame as error:
                lost += error.count
                said.append(str(error))
                continue
            if frame is None:
                return Account(promised, delivered, lost, said)
            delivered += 1
