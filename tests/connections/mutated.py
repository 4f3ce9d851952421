"""Messages of OpenIGTLink, whole and damaged in every way that a peer or a network might."""

import struct

import numpy as np

from bdis.connections.igtl import HEADER_BYTES, image_content, pack, parse_header, parse_image


def whole_messages():
    """One of each kind that a source may meet, with headers of versions 1 and 2."""
    rng = np.random.default_rng(1)
    grey, color = rng.integers(0, 256, (6, 8), np.uint8), rng.integers(0, 256, (6, 8, 3), np.uint8)
    deep = rng.integers(0, 65536, (6, 8)).astype(np.uint16)
    messages = [pack("IMAGE", "Left", 12.25, image_content(image, np.eye(4))) for image in (grey, color, deep)]
    metadata = struct.pack(">HHHI", 1, 1, 3, 1) + b"kv"
    extended = struct.pack(">HHII", 12, 10, 2, 7) + image_content(grey, np.eye(4)) + metadata
    with_metadata = pack("IMAGE", "Left", 12.25, extended)
    return [*messages, struct.pack(">H", 2) + with_metadata[2:], pack("TRANSFORM", "Probe", 0, bytes(48))]


def mutated(message, rng):
    """A damaged copy; in half of them the check sum is right, so that what is behind it is reached."""
    damaged = bytearray(message)
    for _ in range(rng.integers(1, 5)):
        damaged = damaged or bytearray(1)
        place = int(rng.integers(0, len(damaged)))
        choice = rng.integers(0, 5)
        if choice == 0:
            damaged[place] = int(rng.integers(0, 256))
        elif choice == 1:
            damaged[place : place + 4] = struct.pack(">I", int(rng.choice([0, 1, 2**16, 2**31, 2**32 - 1])))
        elif choice == 2:
            del damaged[place : place + int(rng.integers(1, 20))]
        elif choice == 3:
            damaged[place:place] = rng.bytes(int(rng.integers(1, 20)))
        else:
            damaged = damaged[: max(1, place)]
    damaged = bytes(damaged).ljust(HEADER_BYTES, b"\0")
    if rng.random() < 0.5:  # a peer that computes its check sum and its length
        body = damaged[HEADER_BYTES:]
        kind = damaged[2:14] if rng.random() < 0.5 else b"IMAGE".ljust(12, b"\0")
        right = pack("IMAGE", "Left", 0, body)
        damaged = damaged[:2] + kind + damaged[14:42] + right[42:58] + body
    return damaged


def feed(message):
    """Parse a message as the source does.  Returns the image, or None where the parser refused it with ValueError."""
    try:
        header = parse_header(message[:HEADER_BYTES])
        return parse_image(header, message[HEADER_BYTES : HEADER_BYTES + header.body_bytes])
    except ValueError as error:
        if not str(error).isprintable():
            raise
        return None


def check_image(image):
    """What is let through has a size and pixels that a matcher takes."""
    assert image.dtype in (np.uint8, np.uint16)
    assert image.ndim == 2 or image.shape[2] == 3
    assert image.size
