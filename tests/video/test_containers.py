"""Videos are opened with every PyAV; the one that tests run with is only one of them."""

import sys
from types import SimpleNamespace

import pytest

from bdis.cli.app import run
from bdis.video.containers import open_container
from bdis.video.recording import read_depth_video
from tests.video.videos import write_video


@pytest.mark.parametrize(
    ("version", "added"), [("15.1.0", {"metadata_errors": "replace"}), ("18.1.0", {"metadata_errors": "replace"}),
                           ("19.0.2", {}), ("20.0.0rc1", {})],
)  # fmt: skip
def test_titles_in_any_encoding_with_every_version(version, added):
    av = SimpleNamespace(__version__=version, open=lambda place, **options: (place, options))
    assert open_container(av, "surgery.mp4", timeout=3) == ("surgery.mp4", {"timeout": 3, **added})


def test_a_title_that_is_no_text_keeps_nobody_from_the_frames(tmp_path):
    av = pytest.importorskip("av")
    path = tmp_path / "titled.mkv"
    with av.open(str(path), "w") as video:
        video.metadata["title"] = "abcdef"
        stream = video.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        video.mux(stream.encode(av.VideoFrame(64, 48, "yuv420p")))
        video.mux(stream.encode())
    content = path.read_bytes()
    assert content.count(b"abcdef") == 1
    path.write_bytes(content.replace(b"abcdef", b"\xff\xfeab\xe9f"))
    with open_container(av, str(path)) as video:
        assert "ab" in video.metadata["title"]
        assert sum(1 for _ in video.decode(video=0)) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no file of Windows has a colon in its name")
def test_a_colon_in_a_name_was_taken_for_a_protocol(tmp_path, monkeypatch, capsys):
    """The file was there, and what was recorded in such a folder was made again by every --resume."""
    pytest.importorskip("av")
    monkeypatch.chdir(tmp_path)
    write_video(tmp_path / "2024-01-01T10:30:00.mp4", 5)
    given = ["run", "2024-01-01T10:30:00.mp4", "--focal", "60", "--baseline", "5", "--set", "threads=1"]
    given += ["--preset", "fast", "--save", "video,preview", "-o", "10:30"]
    assert run(given) == 0
    assert len(list(read_depth_video("10:30/depth.mkv"))) == 5
    capsys.readouterr()
    assert run([*given, "--resume"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_a_url_is_not_a_file_of_the_same_name():
    av = SimpleNamespace(__version__="20", open=lambda place, **options: place)
    assert open_container(av, "rtsp://camera/left") == "rtsp://camera/left"
