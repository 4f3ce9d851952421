"""A ROS 1 master, a stereo camera, a listener and ``bdis ros1``, as processes that are always ended."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

ROS_PYTHON = "/usr/bin/python3"
HERE = Path(__file__).parent
TYPES = {
    "disparity": "stereo_msgs/DisparityImage", "depth/image": "sensor_msgs/Image", "sigma/image": "sensor_msgs/Image",
    "points": "sensor_msgs/PointCloud2", "status": "std_msgs/String", "depth/camera_info": "sensor_msgs/CameraInfo",
    "left/image_rect": "sensor_msgs/Image",
}  # fmt: skip


def full_name(topic):
    return topic if topic.startswith("/") else f"/bdis/{topic}"


def missing():
    """Why ROS 1 cannot be tested here; empty if it can be."""
    if shutil.which("rosmaster") is None:
        return "there is no rosmaster (make ros)"
    found = subprocess.run([ROS_PYTHON, "-c", "import rospy, stereo_msgs.msg"], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"{ROS_PYTHON} has no rospy (make ros)"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(is_true, seconds=60.0, what=""):
    """Wait; the last value is returned, and a timeout fails the test."""
    end = time.monotonic() + seconds
    while True:
        value = is_true()
        if value:
            return value
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Lines:
    """The lines that a process prints, as they come."""

    def __init__(self, stream):
        self.lines = []
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream):
        for line in stream:
            self.lines.append(line.rstrip("\n"))

    def text(self):
        return "\n".join(self.lines)


class Listener:
    """What was heard on topics."""

    def __init__(self, process, folder):
        self.process, self.folder = process, folder
        self._lines = Lines(process.stdout)

    def heard(self, topic):
        """All messages of a topic below /bdis, or of one that begins with a slash."""
        lines = [json.loads(line) for line in list(self._lines.lines) if line.startswith("{")]
        return [line for line in lines if line.get("topic") == full_name(topic)]

    def data(self, topic, dtype):
        return np.fromfile(self.folder / f"bdis_{topic}".replace("/", "_"), dtype)

    def status(self):
        heard = self.heard("status")
        return heard[-1]["data"] if heard else {}


class World:
    """Processes of one test; ``close`` ends those that still run."""

    def __init__(self, folder):
        self.folder, self.port = folder, free_port()
        uri = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **os.environ, "ROS_MASTER_URI": uri, "ROS_IP": "127.0.0.1", "ROS_HOME": str(folder),
            "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        self._processes = []

    def close(self):
        for process in reversed(self._processes):
            if process.poll() is None:
                process.kill()
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()

    def start(self, *command, **options):
        process = subprocess.Popen(command, env=self.environment, text=True, **options)
        self._processes.append(process)
        return process

    def master(self):
        process = self.start(
            "rosmaster", "--core", "-p", str(self.port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until(self._has_master, what="the master answers")
        return process

    def _has_master(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def camera(self, config):
        path = self.folder / f"camera{len(self._processes)}.json"
        path.write_text(json.dumps(config))
        return self.start(ROS_PYTHON, str(HERE / "ros1_camera.py"), str(path), stdin=subprocess.PIPE)

    def listener(self, *topics):
        folder = self.folder / f"listener{len(self._processes)}"
        folder.mkdir()
        subscriptions = [f"{TYPES.get(topic, 'sensor_msgs/Image')}:{full_name(topic)}" for topic in topics]
        process = self.start(
            ROS_PYTHON, str(HERE / "ros1_listener.py"), str(folder), *subscriptions, stdout=subprocess.PIPE
        )
        return Listener(process, folder)

    def bdis(self, *arguments):
        """``bdis ros1``; its lines are in ``lines``."""
        code = "import sys; from bdis.cli import main; sys.exit(main())"
        process = self.start(
            sys.executable, "-c", code, "ros1", *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        process.lines = Lines(process.stdout)
        return process


def end(bdis, seconds=30.0):
    """Ctrl-C; the exit code."""
    bdis.send_signal(signal.SIGINT)
    return bdis.wait(seconds)


def camera_config(folder, pair, *, rate=10.0, name="image_raw", info=None):
    """A camera that publishes a rendered pair as rectified images of a calibrated camera."""
    height, width = pair.left.shape[:2]
    focal, cx, cy = pair.focal_px, (width - 1) / 2, (height - 1) / 2
    k = [focal, 0, cx, 0, focal, cy, 0, 0, 1]
    config = {"rate": rate}
    for side, pixels, shift in (("left", pair.left, 0.0), ("right", pair.right, -focal * pair.baseline_mm / 1e3)):
        pixels.tofile(folder / f"{side}.raw")
        config[side] = {
            "topic": f"/endo/{side}/{name}", "info_topic": f"/endo/{side}/camera_info", "width": width,
            "height": height, "encoding": "rgb8", "file": str(folder / f"{side}.raw"), "frame_id": f"endo_{side}",
            "info": info or {
                "width": width, "height": height, "D": [0.0] * 5, "K": k, "R": [1, 0, 0, 0, 1, 0, 0, 0, 1],
                "P": [focal, 0, cx, shift, 0, focal, cy, 0, 0, 0, 1, 0],
            },
        }  # fmt: skip
    return config
