"""Start-up time of a new process, and memory."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc

import numpy as np

import bdis

_FIRST_MATCH = """
import sys, time
begin = time.perf_counter()
import bdis
imported = time.perf_counter()
import numpy as np
image = np.random.default_rng(0).integers(1, 255, (480, 640), dtype=np.uint8)
bdis.StereoMatcher(sys.argv[1]).match(image, image)
matched = time.perf_counter()
import json
print(json.dumps([imported - begin, matched - begin]))
"""


def start() -> dict:
    """A new process: with an empty cache of compiled kernels, then with a filled one."""
    return {preset: _start(preset) for preset in ("balanced", "paper")}


def _start(preset: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "BDIS_CACHE_DIR": folder}
        command = [sys.executable, "-c", _FIRST_MATCH, preset]

        def run() -> list[float]:
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            return json.loads(done.stdout)

        cold = run()
        warm = [run() for _ in range(7)]
    return {
        "import_s": float(np.median([w[0] for w in warm])),
        "cold_first_match_s": cold[1],
        "warm_first_match_s": float(np.median([w[1] for w in warm])),
        "warm_first_match_min_s": min(w[1] for w in warm),
    }


def memory() -> dict:
    """Bytes held beside the input and the result, per pixel, and allocated anew by a later frame."""
    grey = np.random.default_rng(0).integers(1, 255, (480, 640), dtype=np.uint8)
    color = np.repeat(grey[..., None] / 255.0, 3, 2)
    cases = {
        "`balanced`, uint8 grey": ("balanced", grey),
        "`balanced`, float64 RGB": ("balanced", color),
        "`accurate`, uint8 grey": ("accurate", grey),
    }
    out = {}
    for name, (preset, image) in cases.items():
        matcher = bdis.StereoMatcher(preset)
        matcher.match(image[:64, :64], image[:64, :64])
        peaks, held = [], []  # of results that somebody holds, whose memory is not used again
        for _ in range(2):
            gc.collect()
            tracemalloc.start()
            result = matcher.match(image, image)
            peaks.append(tracemalloc.get_traced_memory()[1] - result.disparity.nbytes - result.probability.nbytes)
            tracemalloc.stop()
            held.append(result)
        out[name] = {"first_frame_bytes_per_pixel": peaks[0] / grey.size, "later_frames_bytes": peaks[1]}
    return out
