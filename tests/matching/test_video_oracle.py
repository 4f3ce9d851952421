"""Video, where a frame is averaged with the one before, against the oracle."""

import numpy as np
import pytest

import bdis
from bdis.matching import kernels
from bdis.matching.kernels.layout import Maps
from bdis.matching.kernels.pyramid import Image
from bdis.matching.kernels.video import FrameChange, PreviousDisparity
from bdis.vector.crew import Threads
from tests import naive, naive_video
from tests.matching.oracle import assert_equals_the_oracle
from tests.matching.records import with_padding
from tests.scenes import smooth_noise

SIZE = 81, 107
SETTINGS = [
    {"variance": True},
    {"preset": "accurate"},
    {"start": "zero"},
    {"finest_level": 2, "patch_size": 6, "variance": "paper"},
    {"min_disparity": -3.0, "max_disparity": 30.0, "threads": 3},
    {"finest_level": 0, "variance": True},
    {"preset": "accurate", "finest_level": 0, "threads": 3},
]


def sloping(height, width, offset=5.0):
    """Disparity that grows down the picture and a little along the rows, px."""
    y, x = np.indices((height, width))
    return offset + 0.05 * y + 0.02 * x


def frame_of(disparity, texture_seed=0, noise_seed=0):
    """A pair with this disparity at its left pixels, and new sensor noise for every ``noise_seed``."""
    height, width = disparity.shape
    margin = 60
    wide = smooth_noise(height, width + 2 * margin, np.random.default_rng(texture_seed)).astype(float)
    x = np.arange(width)
    left = np.stack([np.interp(margin + x - d, np.arange(wide.shape[1]), row) for d, row in zip(disparity, wide)])
    noise = np.random.default_rng(noise_seed).normal(0, 1, (2, height, width))
    pair = left + noise[0], wide[:, margin : margin + width] + noise[1]
    return [np.clip(np.rint(image), 1, 255).astype(np.uint8) for image in pair]


def with_moved_part(disparity, part, by=10.0):
    """``disparity`` with the rows and columns ``part`` (shares of the picture: top, bottom, left, right) moved."""
    height, width = disparity.shape
    top, bottom, first, last = np.multiply(part, [height, height, width, width]).astype(int)
    moved = disparity.copy()
    moved[top:bottom, first:last] += by
    return moved


def second_frames(size):
    """What may follow a frame of the scene `sloping`: name -> pair."""
    still = sloping(*size)
    black = frame_of(still, noise_seed=1)
    black[0][:, :9] = 0
    black[1][20:24, 15:25] = 0
    return {
        "still": frame_of(still, noise_seed=1),
        "drifting": frame_of(still + 0.3, noise_seed=1),
        "small part moved": frame_of(with_moved_part(still, (0.3, 0.6, 0.5, 0.8)), noise_seed=1),
        "third moved": frame_of(with_moved_part(still, (0.0, 0.4, 0.2, 1.0)), noise_seed=1),
        "cut": frame_of(sloping(*size, offset=11.0), texture_seed=9, noise_seed=1),
        "black pixels": black,
    }


def played(matcher, frames):
    """Results of a matcher that is given its last one."""
    results = [None]
    for frame in frames:
        results.append(matcher.match(*frame, previous=results[-1]))
    return results[1:]


@pytest.mark.parametrize(
    ("changes", "size", "kind"),
    [
        *((SETTINGS[0], (80, 130), kind) for kind in second_frames((40, 40))),
        *((changes, SIZE, kind) for changes in SETTINGS[1:] for kind in ("still", "third moved")),
    ],
    ids=str,
)
def test_equals_the_oracle(changes, size, kind):
    """The oracle is given the matcher's own previous result, so that differences do not add up."""
    matcher = bdis.StereoMatcher(**changes)
    first = frame_of(sloping(*size))
    *_, previous = played(matcher, [first, first])
    left, right = second_frames(size)[kind]
    result = matcher.match(left, right, previous=previous)
    assert result.coverage > 0.4
    assert result.memory.trust.all() == (kind in ("still", "drifting"))
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings, previous), matcher.settings)


@pytest.mark.parametrize("changes", SETTINGS[:2], ids=str)
def test_a_sequence_equals_the_oracle(changes):
    """Each goes on from its own results."""
    matcher = bdis.StereoMatcher(**changes)
    frames = [frame_of(sloping(*SIZE, offset=5.0 + 0.1 * k), noise_seed=k) for k in range(4)]
    previous = None
    for frame, result in zip(frames, played(matcher, frames)):
        previous = naive.match(*frame, matcher.settings, previous)
        assert_equals_the_oracle(result, previous, matcher.settings)
    assert result.memory.trust.all()


def following(size, kind):
    """Level-1 images of two frames, grey value x 16; of the scenes that are still, noise grows with brightness."""
    rng = np.random.default_rng(7)
    height, width = size
    x, y = np.arange(width), np.arange(height)[:, None]
    wide = 16 * smooth_noise(height + 40, width + 40, rng).astype(float)[20:-20]
    at, rows = np.arange(wide.shape[1]), wide[:height]
    by = np.zeros(size)
    if kind == "camera moves":
        by[:] = 0.7
    elif kind == "corner moves":
        by[(y < 0.3 * height) & (x < 0.3 * width)] = 1.5
    elif kind == "creeping":
        by[:] = 0.1
    elif kind == "corner is another":
        by[(y < 0.3 * height) & (x < 0.3 * width)] = 17.0
    elif kind == "zoom":
        by[:] = 0.01 * (x - width / 2)
    frames = [rows[:, 20 : 20 + width], np.stack([np.interp(20 + x + b, at, row) for b, row in zip(by, rows)])]
    if kind == "brighter":
        frames[1] = 1.02 * frames[1]
    elif kind == "no texture":
        frames = [np.full(size, 1600.0)] * 2
    elif kind == "lamp goes on in a corner":
        frames[1][: height // 3, -(width // 3) :] += 40
    noise = np.sqrt(np.maximum(frames[0], 1) / 4) if kind != "identical" else 0.0
    return [np.clip(np.rint(frame + noise * rng.normal(0, 1, size)), 0, 4080).astype(np.int16) for frame in frames]


KINDS = {  # share of the blocks that the frame before counts for: lowest and highest
    "still": (0.9, 1), "identical": (1, 1), "no texture": (0.9, 1), "creeping": (0.9, 1), "zoom": (0, 0.3),
    "corner moves": (0.3, 0.9), "corner is another": (0.3, 0.9),
    "lamp goes on in a corner": (0.3, 0.9), "camera moves": (0, 0), "brighter": (0, 0),
}  # fmt: skip


def compared(left, before, trust_before, threads):
    """Trust in the frame before, by the kernel; what was never written is garbage."""
    images = [Image(pixels=with_padding(image), width=image.shape[1]) for image in (left, before)]
    shape = trust_before.shape
    change = FrameChange(
        flags=np.full(shape, 255, np.uint8), before=trust_before.astype(np.float32),
        trust=np.full(shape, np.nan, np.float32), grey=16.0,
    )  # fmt: skip
    crews = Threads(threads)
    crews.run(lambda crew: kernels.compare_frames(*images, change, crew))
    return change.trust


@pytest.mark.parametrize("size", [(150, 207), (96, 112), (79, 95)])
@pytest.mark.parametrize("kind", KINDS)
def test_trust_equals_the_oracle(kind, size):
    before, left = following(size, kind)
    trust_before = np.random.default_rng(1).choice([0, 0.5, 0.6, 2 / 3], [n // 16 for n in size])
    trust = compared(left, before, trust_before, 1)
    memory = naive_video.Memory(before, trust_before, bdis.Settings())
    np.testing.assert_allclose(trust, naive_video.trust(left.astype(float), memory, 16), atol=1e-6)
    np.testing.assert_array_equal(compared(left, before, trust_before, 3), trust)
    lowest, highest = KINDS[kind]
    assert lowest <= (trust > 0).mean() <= highest


@pytest.mark.parametrize("size", [(16, 16), (17, 31), (31, 16), (33, 18)])
@pytest.mark.parametrize("kind", ["still", "identical", "camera moves", "brighter"])
def test_trust_of_tiny_images_equals_the_oracle(kind, size):
    before, left = following(size, kind)
    trust_before = np.zeros([n // 16 for n in size])
    memory = naive_video.Memory(before, trust_before, bdis.Settings())
    expected = naive_video.trust(left.astype(float), memory, 16)
    np.testing.assert_allclose(compared(left, before, trust_before, 2), expected, atol=1e-6)


@pytest.mark.parametrize("size", [(32, 32), (33, 47), (70, 101), (64, 129), (90, 95)])
def test_drawing_equals_the_oracle(size):
    rng = np.random.default_rng(3)
    fresh = rng.uniform(0, 40, size).astype(np.float32)
    before = (fresh + rng.normal(0, 0.3, size)).astype(np.float32)
    for values in (fresh, before):
        values[rng.random(size) < 0.2] = np.nan
    before[0, 0], before[-1, -1] = np.inf, 1e30
    trust = rng.choice([0, 0.5, 2 / 3], [max(n // 32, 1) for n in size]).astype(np.float32)
    change = FrameChange(flags=np.zeros(trust.shape, np.uint8), before=trust.copy(), trust=trust, grey=16.0)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = naive_video.draw(fresh.astype(float), before, trust.astype(float))
    for threads in (1, 3):
        result = Maps(disparity=fresh.copy(), probability=np.zeros(size, np.float32), width=size[1])
        Threads(threads).run(
            lambda crew, r=result: kernels.draw_to_previous(r, PreviousDisparity(values=before), change, crew)
        )
        np.testing.assert_allclose(result.disparity, expected, rtol=1e-6, atol=1e-6)
