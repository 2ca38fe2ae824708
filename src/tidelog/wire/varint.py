"""Zigzag variable-length integers, as records use them: small numbers of either sign take one byte.

Readers raise IndexError at the end of the bytes and ValueError on a number out of range; `wire.record` turns
both into a refusal once per batch rather than once per number.
"""

_SMALL = 4096


def encode_varint(value: int) -> bytes:
    """Any 64-bit number; 32-bit ones differ only in how many bytes a reader allows."""
    if 0 <= value < _SMALL:
        return _ENCODED[value]
    return _encode(value)


def _encode(value: int) -> bytes:
    rest = value << 1 if value >= 0 else ~(value << 1)
    out = bytearray()
    while rest > 127:
        out.append(rest & 127 | 128)
        rest >>= 7
    out.append(rest)
    return bytes(out)


# Lengths and deltas are nearly always small, and a lookup is several times cheaper than the loop.
_ENCODED = tuple(_encode(value) for value in range(_SMALL))


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """(value, position after it) of a 32-bit number: five bytes at most."""
    first = data[position]
    if first < 128:
        return first >> 1 ^ -(first & 1), position + 1
    second = data[position + 1]
    if second < 128:
        return (first & 127 | second << 7) >> 1 ^ -(first & 1), position + 2
    return _read(data, position, 32)


def read_varlong(data: bytes, position: int) -> tuple[int, int]:
    """(value, position after it) of a 64-bit number: ten bytes at most."""
    first = data[position]
    if first < 128:
        return first >> 1 ^ -(first & 1), position + 1
    second = data[position + 1]
    if second < 128:
        return (first & 127 | second << 7) >> 1 ^ -(first & 1), position + 2
    return _read(data, position, 64)


def _read(data: bytes, position: int, bits: int) -> tuple[int, int]:
    raw = 0
    for shift in range(0, bits, 7):
        byte = data[position]
        position += 1
        raw |= (byte & 127) << shift
        if byte < 128:
            if raw >> bits:
                break
            return raw >> 1 ^ -(raw & 1), position
    raise ValueError(f"a variable-length number exceeds {bits} bits")
