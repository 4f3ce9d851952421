"""A folder for the videos of a test module, and a video with both views that its tests share."""

import pytest

from tests.video.videos import FRAMES, write_video


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("videos")


@pytest.fixture(scope="module")
def video(folder):
    return write_video(folder / "both.mp4", FRAMES)
