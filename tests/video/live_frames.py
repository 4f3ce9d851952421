"""Matched frames of a small rendered scene with its true depth, for tests of what is sent and recorded."""

from __future__ import annotations

import functools
import time
from dataclasses import replace

import bdis
from bdis.synthetic import render
from bdis.video.stream.depth_stream import DepthFrame

HEIGHT, WIDTH = 96, 128


@functools.lru_cache(1)
def scene():
    """A rendered pair and its rig."""
    pair = render("tissue", HEIGHT, WIDTH, noise=0)
    return pair, bdis.Rig(pair.focal_px, pair.cx, pair.cy, pair.baseline_mm)


@functools.lru_cache(1)
def _matched():
    pair, _ = scene()
    return bdis.StereoMatcher("balanced", variance=True).match(pair.left, pair.right)


def depth_frame(index=0, **changes):
    """A matched frame that arrived now."""
    pair, _ = scene()
    frame = DepthFrame(index, index / 25, pair.left, pair.right, _matched(), False, 0.0, 0.0, 0.0, time.perf_counter())
    return replace(frame, **changes)


def wait_until(is_true, timeout_s=10.0):
    """Wait for something that another thread does."""
    end = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)
