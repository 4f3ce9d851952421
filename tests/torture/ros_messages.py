"""Twenty thousand mutated messages of ROS, and bags that are cut at every place: errors in words, no crash, no hang.

Not part of ``make test``; run it with ``make torture``.
"""

import contextlib

import numpy as np
import pytest

from bdis.connections.ros.bag import Bag
from tests.connections.bags import FORMATS, file_of, stereo, write_bag
from tests.connections.mutations import messages_to_mutate, mutated, read_mutated

from .figures import figure

MESSAGES = 20_000
CUTS = 400  # of each format
DAMAGED = 400


def test_mutated_messages():
    pytest.importorskip("rosbags")
    rng, whole = np.random.default_rng(1), messages_to_mutate()
    read = sum(read_mutated(*mutated(whole[number % len(whole)], rng)) for number in range(MESSAGES))
    figure("mutated messages of ROS", f"{MESSAGES}: {read} could still be read, {MESSAGES - read} refused in words")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_cut_and_damaged_bags(tmp_path):
    pytest.importorskip("rosbags")
    rng = np.random.default_rng(2)
    opened = refused = 0
    for how in FORMATS:
        (tmp_path / how).mkdir()
        path = file_of(write_bag(tmp_path / how, stereo(), how))
        whole = path.read_bytes()
        for number in range(CUTS + DAMAGED):
            content = bytearray(whole[: int(rng.integers(len(whole)))] if number < CUTS else whole)
            if number >= CUTS:
                for at in rng.integers(0, len(content), 8):
                    content[at] = rng.integers(256)
            path.write_bytes(content)
            if read_all(path):
                opened += 1
            else:
                refused += 1
    figure("cut and damaged bags", f"{opened + refused} in {len(FORMATS)} formats: {opened} read, {refused} refused")


def read_all(path):
    """Whether a bag can be opened; its messages are read, or refused one by one."""
    try:
        with Bag(path) as bag:
            for topic in bag.topics:
                for message in bag.messages(topic):
                    with contextlib.suppress(ValueError):
                        assert bag.read(message)[:20] == bag.read_start(message, 20)
    except ValueError:
        return False
    return True
