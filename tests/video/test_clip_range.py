"""The range of the preview's colours comes from frames of the whole clip, and soon."""

import numpy as np
import pytest

from bdis import Rig, StereoMatcher
from bdis.synthetic import render
from bdis.video.recording.clip_range import SAMPLES, _sampled, range_of_clip
from bdis.video.sources import NumberedSource, open_source
from tests.video.videos import write_video


@pytest.mark.parametrize("gop", [1, 8, 24, 240])
def test_every_part_of_a_clip_is_looked_at(folder, gop):
    """However far apart its key frames are."""
    frames = 10 * SAMPLES
    with open_source(write_video(folder / f"clip{gop}.mp4", frames, gop=gop)) as source:
        found = [frame.index for frame in _sampled(source, 0.0, source.length / source.fps)]
    assert found == sorted(set(found))
    assert found[0] == 0
    steps = [later - earlier for earlier, later in zip(found, [*found[1:], frames])]
    assert max(steps) <= 30
    if gop <= 10:
        assert len(found) == SAMPLES
        assert all(index % gop == 0 for index in found)


def test_the_range_of_a_long_clip_does_not_take_decoding_half_of_it(folder, monkeypatch):
    """Ten minutes of video with a key frame every ten seconds took 12 s before the first frame was recorded."""
    from bdis.video.sources.track import Track

    path = write_video(folder / "long.mp4", 10 * SAMPLES, gop=10)
    decoded, decode_more = [], Track._decode_more
    monkeypatch.setattr(Track, "_decode_more", lambda track: (decoded.append(1), decode_more(track)))
    with open_source(path) as source:
        assert len(list(_sampled(source, 0.0, source.length / source.fps))) == SAMPLES
    assert len(decoded) <= 5 * SAMPLES  # a decoder returns a frame after it was given a few more


def test_a_frame_of_another_size_stopped_the_recording_before_it_began():
    small = render("tissue", 48, 64)
    rig = Rig(focal_px=small.focal_px, cx=small.cx, cy=small.cy, baseline_mm=small.baseline_mm, size=(64, 48))

    class Clip(NumberedSource):
        def _load(self, index):
            factor = 2 if index == 5 else 1
            return tuple(np.kron(view, np.ones((factor, factor, 1), np.uint8)) for view in (small.left, small.right))

    near, far = range_of_clip(Clip("a clip", 10), StereoMatcher("fast"), rig)
    assert near < np.nanmedian(rig.focal_px * rig.baseline_mm / small.disparity) < far
