"""Folders, rendered scenes, cameras, and what is said about what does not fit; videos are in test_video_sources.py."""

import time
from pathlib import Path

import numpy as np
import pytest

from bdis import Rig, StereoCalibration, write_image
from bdis.evaluation.datasets import write_rendered
from bdis.video import sources
from bdis.video.sources import (
    BadFrame,
    CameraSource,
    NumberedSource,
    SourceKind,
    SourceLost,
    Track,
    VideoSource,
    open_source,
)
from bdis.video.sources.views import Splitter
from tests.video.videos import HEIGHT, WIDTH, flat_pair, index_of, read_all

# ---------------------------------------------------------------- folders


def write_pairs(folder: Path, names: list[tuple[str, str]]) -> Path:
    for index, pair in enumerate(names):
        for name, image in zip(pair, flat_pair(index)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_image(folder / name, image)
    return folder


@pytest.mark.parametrize(
    "names",
    [
        [(f"left/{i}.png", f"right/{i}.png") for i in range(12)],
        [(f"Left/frame{i}.jpg", f"Right/frame{i}.jpg") for i in range(12)],
        [(f"cam0/{1000 + i}.png", f"cam1/{2000 + i}.png") for i in range(12)],
        [(f"a{i}_left.png", f"a{i}_right.png") for i in range(12)],
        [(f"L{i}.png", f"R{i}.png") for i in range(12)],
        [(f"frame-{i}-l.png", f"frame-{i}-r.png") for i in range(12)],
        [("left.png", "right.png")],
        [("left.png", "right.png"), ("left_2.png", "right_2.png"), ("left_3.png", "right_3.png")],
    ],
    ids=lambda names: names[-1][0],
)
def test_pairs_are_found_in_natural_order(tmp_path, names):
    frames, complaints = read_all(open_source(write_pairs(tmp_path, names), fps=10))
    assert complaints == []
    assert [index_of(frame.left) for frame in frames] == list(range(len(names)))
    assert [frame.time_s for frame in frames] == [i / 10 for i in range(len(names))]
    assert all(frame.right.mean() > frame.left.mean() for frame in frames)


def test_two_folders_and_two_images_are_pairs(tmp_path):
    write_pairs(tmp_path, [(f"one/{i}.png", f"other/{i}.png") for i in range(3)])
    frames, _ = read_all(open_source(tmp_path / "one", tmp_path / "other"))
    assert [index_of(frame.left) for frame in frames] == [0, 1, 2]
    frames, _ = read_all(open_source(tmp_path / "one" / "1.png", tmp_path / "other" / "1.png"))
    assert [index_of(frame.left) for frame in frames] == [1]


def test_images_with_both_views_are_taken_apart(tmp_path):
    for index in range(3):
        write_image(tmp_path / f"{index}.png", np.concatenate(flat_pair(index), 1))
    frames, _ = read_all(open_source(tmp_path))
    assert [index_of(frame.left) for frame in frames] == [0, 1, 2]
    frames, _ = read_all(open_source(tmp_path / "2.png"))
    assert frames[0].left.shape == (HEIGHT, WIDTH, 3)


def test_a_missing_or_damaged_image_is_reported_and_skipped(tmp_path):
    write_pairs(tmp_path, [(f"left/{i}.png", f"right/{i}.png") for i in range(5)])
    (tmp_path / "right/1.png").unlink()
    (tmp_path / "left/3.png").write_bytes(b"no image")
    frames, complaints = read_all(open_source(tmp_path))
    assert [frame.index for frame in frames] == [0, 2, 4]
    assert "no right image for" in complaints[0]
    assert "frame 3" in complaints[1]


def test_a_folder_knows_its_rig(tmp_path):
    write_pairs(tmp_path, [("left/1.png", "right/1.png")])
    rig = Rig(50, 32, 24, 5, size=(WIDTH, HEIGHT))
    rig.save(tmp_path / "rig.toml")
    assert open_source(tmp_path).rig == rig


def test_a_raw_calibration_beside_images_that_show_nothing_is_not_passed_over(tmp_path):
    write_pairs(tmp_path, [("left/1.png", "right/1.png")])
    k = np.array([[50, 0, 32], [0, 50, 24], [0, 0, 1]])
    StereoCalibration(k, np.zeros(5), k, np.zeros(5), np.eye(3), [-5, 0, 0], size=(WIDTH, HEIGHT)).save(
        tmp_path / "calibration.json"
    )
    source = open_source(tmp_path)
    with pytest.raises(ValueError, match="it cannot be told whether the images are rectified already"):
        _ = source.camera
    assert source.read() is not None


@pytest.mark.parametrize("fps", [0, -25, float("nan")])
@pytest.mark.parametrize("place", ["", "0"], ids=["folder", "camera"])
def test_a_frame_rate_that_no_source_can_have_is_refused(tmp_path, place, fps):
    write_pairs(tmp_path, [("left/1.png", "right/1.png")])
    with pytest.raises(ValueError, match="fps is .*; expected a number above 0"):
        open_source(place or tmp_path, fps=fps)


def test_a_folder_may_be_named_by_a_number(tmp_path, monkeypatch):
    write_pairs(tmp_path / "12", [("left/1.png", "right/1.png")])
    monkeypatch.chdir(tmp_path)
    assert len(read_all(open_source("12"))[0]) == 1


def test_reading_goes_on_after_a_bad_frame(tmp_path):
    write_pairs(tmp_path, [(f"left/{i}.png", f"right/{i}.png") for i in range(3)])
    (tmp_path / "right/1.png").unlink()
    frames = iter(open_source(tmp_path))
    assert next(frames).index == 0
    with pytest.raises(BadFrame):
        next(frames)
    assert next(frames).index == 2


def test_a_data_set_is_a_source(tmp_path):
    write_rendered(tmp_path / "set", "plane", frames=2, height=HEIGHT, width=WIDTH)
    with open_source(tmp_path / "set") as source:
        assert source.rig is not None
        assert source.rig.size == (WIDTH, HEIGHT)
        assert len(list(source)) == 2


def test_a_folder_without_pairs_says_what_was_looked_for(tmp_path):
    with pytest.raises(ValueError, match="looked for left and right folders"):
        open_source(tmp_path)


@pytest.mark.parametrize("view", ["left", "right"])
def test_two_files_for_the_same_view_of_a_frame_are_refused_and_neither_is_dropped(tmp_path, view):
    for name in ("left/1.png", "left/2.png", "right/1.png", "right/2.png", f"{view}/1.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(ValueError, match=rf"{view}/1\.(jpg|png) and 1\.(jpg|png) are both the same frame"):
        open_source(tmp_path)
    with pytest.raises(ValueError, match="are both the same frame"):
        open_source(tmp_path / "left", tmp_path / "right")


def test_the_fingerprint_of_a_data_set_or_a_bag_tells_it_from_another(tmp_path):
    write_rendered(tmp_path / "plane", "plane", frames=2, height=HEIGHT, width=WIDTH)
    write_rendered(tmp_path / "tissue", "tissue", frames=2, height=HEIGHT, width=WIDTH)
    plane, tissue = (open_source(tmp_path / scene).fingerprint for scene in ("plane", "tissue"))
    assert plane != tissue
    assert plane == open_source(tmp_path / "plane").fingerprint
    bag = tmp_path / "bag"
    bag.mkdir()
    (bag / "bag_0.mcap").write_bytes(b"one")
    before = open_source(bag).fingerprint
    (bag / "bag_0.mcap").write_bytes(b"three")
    assert (before["bytes"], open_source(bag).fingerprint["bytes"]) == (3, 5)
    whole = tmp_path / "one.mcap"
    prints = []
    for change in (0, 1, 300_000, 599_999):  # in the beginning, the middle and the end
        content = bytearray(600_000)
        content[change] = change > 0
        whole.write_bytes(content)
        prints.append(open_source(whole).fingerprint["sha256"])
    assert len(set(prints)) == 4
    assert open_source(whole.rename(tmp_path / "other.mcap")).fingerprint["sha256"] == prints[-1]
    assert open_source("render:plane").fingerprint == {}


def stamped(lefts, rights, name="{:013d}.png"):
    """Pairs of names of frames that were taken every 40 ms; the right ones 13 ms late."""
    return [
        (f"left/{name.format(1690001000000 + 40 * left)}", f"right/{name.format(1690001000013 + 40 * right)}")
        for left, right in zip(lefts, rights)
    ]


def clock(ms):
    return f"10-00-{ms // 1000:02d}-{ms % 1000:03d}.png"


MISSING_5, MISSING_2 = [0, 1, 2, 3, 4, 6, 7], [0, 1, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (stamped(MISSING_5, MISSING_2), "1690001000080.png and 1690001000133.png"),
        (stamped(range(1, 8), range(7)), "1690001000040.png and 1690001000013.png"),
        ([(f"left/IMG_{i}.png", f"right/IMG_{j + 101}.png") for i, j in zip(MISSING_5, MISSING_2)], "IMG_2.png and"),
        ([(f"{i:04d}_cam0.png", f"{j:04d}_cam1.png") for i, j in zip(MISSING_5, MISSING_2)], "0002_cam0.png and"),
        (
            [(f"left/t{i // 5}_{i % 5}.png", f"right/u{j // 5}_{j % 5}.png") for i, j in zip(MISSING_5, MISSING_2)],
            "t0_2",
        ),
    ],
    ids=["stamps", "the first and the last", "counters", "numbers of cameras behind", "two numbers"],
)
def test_frames_missing_in_both_views_gave_pairs_of_different_moments(tmp_path, names, words):
    folders = [tmp_path / side for side in ("left", "right")]
    write_pairs(tmp_path, [(f"left/{Path(left).name}", f"right/{Path(right).name}") for left, right in names])
    with pytest.raises(ValueError, match=f"{words}.* would be a pair by their order, but not by their numbers"):
        open_source(*folders)


@pytest.mark.parametrize(
    "names",
    [
        stamped(range(8), range(8)),
        stamped(MISSING_5, MISSING_5),
        [(f"left/{1000 + 2 * i}.png", f"right/{1001 + 2 * i}.png") for i in range(8)],
        [(f"left/{clock(40 * i + 30)}", f"right/{clock(40 * i + 47)}") for i in range(20, 30)],
        [("left/a.png", "right/x.png"), ("left/b.png", "right/y.png")],
    ],
    ids=["stamps", "missing in both", "even and odd", "s and ms", "no numbers"],
)
def test_names_that_differ_are_paired_by_their_order_and_that_is_told(tmp_path, names):
    source = open_source(write_pairs(tmp_path, names))
    frames, complaints = read_all(source)
    assert (len(frames), complaints) == (len(names), [])
    such_as = " and ".join(Path(name).name for name in names[0])
    assert source.remarks == [f"the names of left and right differ: paired by their order, such as {such_as}"]


def test_pairs_of_the_same_names_say_nothing_of_their_order(tmp_path):
    assert open_source(write_pairs(tmp_path, [(f"left/{i}.png", f"right/{i}.png") for i in range(3)])).remarks == []


def test_views_whose_names_have_nothing_in_common_are_refused(tmp_path):
    write_pairs(tmp_path, [("left/a.png", "right/b.png")])
    write_image(tmp_path / "left/c.png", flat_pair(1)[0])
    with pytest.raises(ValueError, match="2 left and 1 right images whose names do not correspond"):
        open_source(tmp_path)


# ---------------------------------------------------------------- rendered scenes


def test_a_rendered_video_goes_to_and_fro():
    with open_source("render:plane,frames=9,distinct=4,height=32,width=48") as source:
        images = [frame.left for frame in source]
    assert [next(i for i, other in enumerate(images) if other is image) for image in images] == [
        0, 1, 2, 3, 2, 1, 0, 1, 2,
    ]  # fmt: skip


def test_a_wrong_scene_or_option_is_refused_at_once():
    with pytest.raises(ValueError, match="unknown scene 'liver'"):
        open_source("render:liver")
    with pytest.raises(ValueError, match="unknown option smok"):
        open_source("render:colon,smok=1")


# ---------------------------------------------------------------- cameras


class FakeCapture:
    """A capture card that is unplugged after ``frames`` pictures, and can be opened ``times`` times."""

    opened, frames, times, released = 0, 5, 1, 0

    def __init__(self, device):
        FakeCapture.opened += 1
        self.count = 0
        self.is_there = FakeCapture.opened <= FakeCapture.times

    def isOpened(self):
        return self.is_there

    def set(self, *_):
        return True

    def get(self, _):
        return 30.0

    def grab(self):
        self.count += 1
        return self.count <= self.frames

    def retrieve(self):
        return True, np.concatenate(flat_pair(self.count - 1), 1)[..., ::-1]

    def release(self):
        FakeCapture.released += 1


@pytest.fixture
def capture(monkeypatch):
    import cv2

    monkeypatch.setattr(cv2, "VideoCapture", FakeCapture)
    for name, value in (("opened", 0), ("frames", 5), ("times", 1), ("released", 0)):
        monkeypatch.setattr(FakeCapture, name, value)
    return FakeCapture


@pytest.mark.parametrize("where", ["0", 0, "/dev/video7"])
def test_a_camera_is_opened_when_it_is_read_and_given_back(capture, where):
    with open_source(where) as source:
        assert isinstance(source, CameraSource)
        assert source.is_live
        assert capture.opened == 0
        frame = source.read()
        assert index_of(frame.left) == 0
        assert source.fps == 30
    assert capture.released == 1


def test_a_camera_that_is_unplugged_is_lost_and_one_that_never_was_is_an_error(capture):
    source = open_source("0")
    for _ in range(5):
        source.read()
    with pytest.raises(SourceLost, match="no more pictures"):
        source.read()
    source.close()
    with pytest.raises(SourceLost, match="cannot be opened"):
        source.read()
    with pytest.raises(OSError, match="cannot be opened") as caught:
        open_source("1").read()
    assert not isinstance(caught.value, SourceLost)


def test_two_cameras_give_a_view_each(capture, monkeypatch):
    monkeypatch.setattr(capture, "times", 2)
    with open_source(0, 1, color=False) as source:
        frame = source.read()
    assert frame.left.shape == (HEIGHT, 2 * WIDTH)


# ---------------------------------------------------------------- what does not fit


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("{video}", "{folder}"), {}, "must be of the same kind"),
        (("{video}", "{video}"), {"layout": "side-by-side"}, "right view is given too"),
        (("{folder}",), {"deinterlace": True}, "deinterlace is for videos"),
        (("render:colon", "render:colon"), {}, "has both views"),
        (("{video}",), {"layout": "diagonal"}, "layout is 'diagonal'"),
        (("{video}",), {"fps": 10.0}, "fps is for folders and cameras"),
        (("render:plane,frames=2.5",), {}, "frames must be a whole number, but it is 2.5"),
    ],
)
def test_options_that_do_not_fit_are_refused(video, folder, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        open_source(*(text.format(video=video, folder=folder) for text in arguments), **options)


@pytest.mark.parametrize(("places", "named"), [((None,), "where is None"), (("0", 1.5), "right is 1.5")])
def test_a_place_that_is_none_ended_in_an_index_error(places, named):
    with pytest.raises(TypeError, match=f"{named}; expected a path, a URL, or the number of a camera"):
        sources.open_source(*places)


def test_a_new_kind_of_source_is_one_line_in_the_list(monkeypatch):
    class Flat(NumberedSource):
        def _load(self, index):
            return flat_pair(index)

    kind = SourceKind(
        "a flat video",
        lambda place: place.startswith("flat:"),
        lambda places, options: Flat(" and ".join(places), 3, options.image_fps),
    )
    monkeypatch.setattr(sources, "KINDS", (kind, *sources.KINDS))
    frames, _ = read_all(open_source("flat:left", "flat:right", fps=10))
    assert [frame.time_s for frame in frames] == [0, 0.1, 0.2]
    with pytest.raises(ValueError, match="deinterlace is for videos, but flat:left is a flat video"):
        open_source("flat:left", deinterlace=True)


def test_nothing_is_opened_before_it_is_needed(video, monkeypatch):
    import av

    monkeypatch.setattr(av, "open", lambda *_, **__: pytest.fail("opened too early"))
    open_source(video)
    VideoSource(Track(str(video)), Splitter())


def test_closing_gives_the_file_back(video):
    import os

    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    for _ in range(20):
        with open_source(video) as source:
            source.read()
    time.sleep(0)
    after = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert after <= before
