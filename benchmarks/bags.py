"""From bag to bag: the frames of ``streaming``, read from bags of ROS and recorded as bags, beside videos."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import bdis
from bdis.connections.ros.image_messages import image_fields
from bdis.connections.ros.mcap_file import McapWriter
from bdis.connections.ros.message_types import CAMERA_INFO, COMPRESSED, IMAGE, build_message, definition_of
from bdis.connections.ros.messages import camera_info_fields
from bdis.evaluation.runner import single_threaded_opencv
from bdis.files.images import encode_pixels
from bdis.video.recording import BagPlan, Recording, RecordingPlan
from bdis.video.stream.depth_stream import DepthStream

from .streaming import SIZES, one_core, write_video

EVERYTHING = ("disparity", "depth", "sigma", "cloud")


def bags(rounds: int) -> dict:
    """Frames per second from file to file, kinds of files taking turns, everything on one core."""
    found = {}
    with tempfile.TemporaryDirectory() as folder, one_core(), single_threaded_opencv():
        for width, height in SIZES:
            frames = 90 if width < 1000 else 30
            video = Path(folder, f"{width}.mp4")
            rig = write_video(video, width, height, frames)
            raw, packed = Path(folder, f"{width}.mcap"), Path(folder, f"{width}-jpeg.mcap")
            _write_bag(raw, video, rig, is_packed=False)
            _write_bag(packed, video, rig, is_packed=True)
            methods: dict[str, Callable[[], float]] = {}
            for preset in ("fast", "balanced"):
                methods |= {
                    f"`{preset}`, MP4 to `depth.mkv`": lambda p=preset: _record(video, rig, p, "video"),
                    f"`{preset}`, MP4 to MCAP": lambda p=preset: _record(video, rig, p, "bag"),
                    f"`{preset}`, MCAP (rgb8) to MCAP": lambda p=preset: _record(raw, rig, p, "bag"),
                    f"`{preset}`, MCAP (rgb8) to .bag": lambda p=preset: _record(raw, rig, p, "ros1-bag"),
                    f"`{preset}`, MCAP (JPEG) to MCAP": lambda p=preset: _record(packed, rig, p, "bag"),
                    f"`{preset}`, MCAP (rgb8) to MCAP with cloud": lambda p=preset: _record(
                        raw, rig, p, "bag", EVERYTHING
                    ),
                }
            for method in methods.values():
                method()  # loads the kernels, fills the caches
            runs = [{name: method() for name, method in methods.items()} for _ in range(max(1, rounds // 5))]
            found[f"{width}x{height}"] = {name: float(np.median([run[name] for run in runs])) for name in methods}
    return found


def _write_bag(path: Path, video: Path, rig: bdis.Rig, is_packed: bool) -> None:
    """The frames of a video as a bag of ROS 2, as rgb8 or JPEG."""
    kind, name = (COMPRESSED, "image_rect/compressed") if is_packed else (IMAGE, "image_rect")
    parts = ((name, kind), ("camera_info", CAMERA_INFO))
    topics = {f"/{side}/{part}": each for side in ("left", "right") for part, each in parts}
    writer = McapWriter(path, {topic: (each, definition_of(each, False)[0]) for topic, each in topics.items()})
    with bdis.open_source(video) as source:
        for frame in source:
            stamp_ns = 10**18 + round(1e9 * frame.time_s)
            messages = []
            for side, image in (("left", frame.left), ("right", frame.right)):
                fields = _packed(image) if is_packed else image_fields(np.ascontiguousarray(image))
                contents = (fields, camera_info_fields(rig, side))
                messages += [
                    (f"/{side}/{part}", stamp_ns, build_message(each, content, stamp_ns, "scope", is_ros1=False))
                    for (part, each), content in zip(parts, contents)
                ]
            writer.write(messages)
    writer.close()


def _packed(image: np.ndarray) -> dict:
    return {"format": "jpeg", "data": np.frombuffer(encode_pixels(image[..., ::-1], ".jpg"), np.uint8)}


def _record(
    path: Path, rig: bdis.Rig, preset: str, save: str, contents: tuple[str, ...] = ("disparity", "depth", "sigma")
) -> float:
    """Frames per second; both kinds of files have the same images, and depth with its sigma where they can."""
    assert rig.size is not None
    width, height = rig.size
    source = bdis.open_source(path) if path.suffix == ".mcap" else bdis.open_source(path, color=save != "video")
    matcher = bdis.StereoMatcher(preset, variance=save != "video")
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        begin = time.perf_counter()
        plan = RecordingPlan((save,), (height, width), rig, source.fps, bag=BagPlan(contents))
        recording = Recording(Path(folder, "out"), plan, {})
        with DepthStream(source, matcher, rig) as stream:
            for frame in stream:
                recording.add(frame)
        recording.close("complete")
        return stream.statistics().frames / (time.perf_counter() - begin)
