"""Videos are opened with every PyAV; the one that tests run with is only one of them."""

from types import SimpleNamespace

import pytest

from bdis.video.containers import open_container


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
