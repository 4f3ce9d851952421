"""Just enough of Protocol Buffers to look into a message without the package that wrote it."""

import struct


def fields_of(message):
    """Values of each field number, in a list: whole numbers, and bytes of everything else."""
    found, place = {}, 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while place < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            value = varint()
        else:
            count = {1: 8, 5: 4}[kind] if kind != 2 else varint()
            value, place = message[place : place + count], place + count
            if kind == 5:  # fixed32: all that Foxglove's schemas have of it are whole numbers
                value = int.from_bytes(value, "little")
        found.setdefault(number, []).append(value)
    return found


def doubles(fields, number):
    """A repeated field of doubles, packed or not."""
    content = b"".join(fields.get(number, []))
    return list(struct.unpack(f"<{len(content) // 8}d", content))
