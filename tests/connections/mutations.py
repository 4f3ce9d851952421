"""Messages of ROS with random changes, for the tests of the parsers."""

import numpy as np

import bdis
from bdis.connections.ros.image_messages import compressed_image_of, image_fields, image_of
from bdis.connections.ros.message_types import CAMERA_INFO, COMPRESSED, IMAGE, build_message, parse_message
from bdis.connections.ros.messages import camera_info_fields, cameras_of
from bdis.video.sources.bag_index import stamp_of
from tests.connections.bags import compressed

NUMBERS = (0, 1, 2, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)


def messages_to_mutate():
    """Bytes, type, and whether they are of ROS 1."""
    pixels = np.arange(8 * 6 * 3, dtype=np.uint8).reshape(6, 8, 3)
    rig = bdis.Rig(500, 4, 3, 5, size=(8, 6))
    kinds = [
        (IMAGE, image_fields(pixels)),
        (IMAGE, image_fields(pixels[..., 0]) | {"encoding": "bayer_rggb8"}),
        (IMAGE, image_fields(pixels[..., 0].astype(np.uint16))),
        (IMAGE, image_fields(pixels.reshape(6, 24)[:, :16]) | {"width": 8, "encoding": "yuv422"}),
        (COMPRESSED, compressed(".png")(pixels)),
        (COMPRESSED, compressed(".jpg")(pixels)),
        (CAMERA_INFO, camera_info_fields(rig, "left")),
        (CAMERA_INFO, camera_info_fields(rig, "right")),
    ]
    return [
        (build_message(kind, fields, 7 * 10**9, "camera", is_ros1=is_ros1), kind, is_ros1)
        for kind, fields in kinds
        for is_ros1 in (False, True)
    ]


def mutated(whole, rng):
    """The same with some bytes or numbers changed, a part removed or doubled, or the end cut off."""
    content, kind, is_ros1 = whole
    changed = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, max(1, min(len(changed), 120)) if rng.random() < 0.7 else max(1, len(changed))))
        how = rng.integers(0, 5)
        if how == 0:
            changed[at : at + 1] = bytes([int(rng.integers(256))])
        elif how == 1:
            changed[at : at + 4] = NUMBERS[rng.integers(len(NUMBERS))].to_bytes(4, "little")
        elif how == 2:
            del changed[at : at + int(rng.integers(1, 20))]
        elif how == 3:
            changed[at:at] = changed[at : at + 8]
        else:
            del changed[at:]
    return bytes(changed), kind, is_ros1


def read_mutated(content, kind, is_ros1):
    """Whether a message can be read; any error but a ValueError is raised."""
    try:
        stamp_of(content, is_ros1)
        message = parse_message(content, kind, is_ros1)
        if kind == CAMERA_INFO:
            found = cameras_of(message, message)
            bdis.Rig(**found.rectified, size=found.size)
        else:
            image = image_of(message) if kind == IMAGE else compressed_image_of(message)
            assert image.size < 2**28
            int(image.sum())  # touches every pixel
    except ValueError:
        return False
    return True
