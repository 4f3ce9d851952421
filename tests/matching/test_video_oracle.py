"""Video, where a frame starts from the one before, against the oracle."""

import numpy as np
import pytest

import bdis
from tests import naive, naive_surface
from tests.matching.oracle import assert_equals_the_oracle
from tests.scenes import smooth_noise

SIZE = 81, 107
SETTINGS = [
    {"variance": True},
    {"preset": "accurate"},
    {"start": "zero"},
    {"finest_level": 2, "patch_size": 6, "variance": "paper"},
    {"min_disparity": -3.0, "max_disparity": 30.0, "threads": 3},
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


@pytest.mark.parametrize("kind", second_frames((40, 40)))
@pytest.mark.parametrize(
    ("changes", "size"), [*((changes, SIZE) for changes in SETTINGS), (SETTINGS[0], (80, 130))], ids=str
)
def test_equals_the_oracle(changes, size, kind):
    """The oracle is given the matcher's own previous result, so that differences do not add up."""
    matcher = bdis.StereoMatcher(**changes)
    first = frame_of(sloping(*size))
    *_, previous = played(matcher, [first, first])
    left, right = second_frames(size)[kind]
    result = matcher.match(left, right, previous=previous)
    assert result.coverage > 0.4
    assert_equals_the_oracle(result, naive.match(left, right, matcher.settings, previous), matcher.settings)


@pytest.mark.parametrize("changes", SETTINGS[:2], ids=str)
def test_a_sequence_equals_the_oracle(changes):
    """Each goes on from its own results; the first frame leaves no memory, since nobody said it is a video."""
    matcher = bdis.StereoMatcher(**changes)
    frames = [frame_of(sloping(*SIZE, offset=5.0 + 0.2 * k), noise_seed=k) for k in range(4)]
    previous = None
    for frame, result in zip(frames, played(matcher, frames)):
        previous = naive.match(*frame, matcher.settings, previous)
        assert_equals_the_oracle(result, previous, matcher.settings)


@pytest.mark.parametrize(
    ("kind", "lowest", "highest"),
    [("still", 0.85, 1), ("drifting", 0.85, 1), ("small part moved", 0.85, 0.99), ("third moved", 0.5, 0.85),
     ("cut", 0, 0.5)],
)  # fmt: skip
def test_the_frames_above_reach_every_branch(kind, lowest, highest):
    """Searched only along the old surface, searched anew but drawn toward it, or a fresh start."""
    matcher = bdis.StereoMatcher()
    first = frame_of(sloping(*SIZE))
    *_, previous = played(matcher, [first, first])
    levels = naive.levels_of(*second_frames(SIZE)[kind], [np.ones(SIZE, bool)] * 2, matcher.settings)
    found = None
    for level in levels[:-1]:
        found = naive.solve_level(level, found, matcher.settings)
    assert lowest <= naive_surface.agreement(found.disparity, previous.memory[0].astype(float)) <= highest
