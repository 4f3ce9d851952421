"""Eight hundred corrupted videos in seven formats: every frame that is promised is delivered or counted as lost.

Not part of ``make test``; run it with ``make torture``.
"""

import pytest

from tests.video.corruption import FORMATS, account_of, corrupted, write_whole_videos

from .figures import figure

VIDEOS = 800
FIRST_SEED = 1000  # others than those of tests/video/test_damage.py


def test_all_frames_are_accounted_for(tmp_path):
    pytest.importorskip("av")
    whole = {ending: path.read_bytes() for ending, path in write_whole_videos(tmp_path).items()}
    exact = delivered = lost = 0
    unreliable, wrong = [], []
    for number in range(VIDEOS):
        ending = list(FORMATS)[number % len(FORMATS)]
        path = tmp_path / f"corrupted.{ending}"
        path.write_bytes(corrupted(whole[ending], FIRST_SEED + number))
        account = account_of(path)
        delivered, lost = delivered + account.delivered, lost + account.lost
        if account.promised == account.delivered + account.lost:
            exact += 1
        else:
            (unreliable if account.is_settled else wrong).append((ending, FIRST_SEED + number, account))
    figure(
        "corrupted videos",
        f"{VIDEOS} in {len(FORMATS)} formats: {exact} exact, {len(unreliable)} whose promise is said to be unreliable, "
        f"{len(wrong)} wrong; {delivered} frames delivered, {lost} lost",
    )
    assert not wrong, wrong[:3]
    assert len(unreliable) < 0.05 * VIDEOS, unreliable[:3]
