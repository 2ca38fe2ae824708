"""Produce frames with damage that looks at their layout: fields at their limits, lengths that lie, splices.

`rng` chooses everything, so a seed replays a failure.
"""

import random

from crc32c import crc32c

from tidelog.wire.batch import ATTRIBUTES_AT, CRC_AT, LENGTH_AT, OVERHEAD
from tidelog.wire.primitives import uvarint

FIELDS = (
    (0, 8),
    (8, 4),
    (12, 4),
    (16, 1),
    (17, 4),
    (21, 2),
    (23, 4),
    (27, 8),
    (35, 8),
    (43, 8),
    (51, 2),
    (53, 4),
)
"""(position, bytes) of the fields of a batch header, but for the count."""
DELTA_AT, COUNT_AT = 23, 57
LIMITS = (
    0,
    1,
    -1,
    61,
    128,
    250_001,
    *(sign * 2**bits + n for bits in (15, 31, 63) for sign in (1, -1) for n in (0, -1, 12)),
)
TAIL_BYTES = 3


def mutated_batch(rng: random.Random, whole: bytes, now_ms: int) -> bytes:
    changed = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 3))):
        _mutate_batch(rng, changed, now_ms)
    if rng.random() < 0.5 and len(changed) >= OVERHEAD:
        _put(changed, LENGTH_AT, 4, len(changed) - OVERHEAD)
    if rng.random() < 0.75 and len(changed) >= ATTRIBUTES_AT:
        _put(changed, CRC_AT, 4, crc32c(changed[ATTRIBUTES_AT:]))
    return bytes(changed)


def _mutate_batch(rng: random.Random, batch: bytearray, now_ms: int) -> None:
    at, size = rng.choice(FIELDS)
    limit = rng.choice((*LIMITS, now_ms, now_ms - 2**63, now_ms - 2**63 + 1))
    kind = rng.randrange(6)
    if kind == 0:
        _flip(rng, batch)
    elif kind == 1:
        _put(batch, at, size, limit)
    elif kind == 2:
        _put(batch, at, size, int.from_bytes(batch[at : at + size], "big") + rng.choice((-12, -1, 1, 12)))
    elif kind == 3:  # as many records as an offset delta allows
        _put(batch, COUNT_AT, 4, limit)
        _put(batch, DELTA_AT, 4, limit - 1)
    elif kind == 4:
        del batch[rng.randrange(len(batch) + 1) :]
    else:
        _splice(rng, batch, bytes(batch) + rng.randbytes(80))


def with_length(rng: random.Random, frame: bytes, records_bytes: int) -> bytes:
    """The length of the records is spelt in more bytes than it needs, or says something else."""
    true = uvarint(records_bytes + 1)
    start = len(frame) - TAIL_BYTES - records_bytes
    given = bytearray(uvarint(max(0, records_bytes + 1 + rng.choice((0, 0, -1, 1, 3, 2**28, 2**31)))))
    for _ in range(rng.randrange(5)):
        given[-1] |= 0x80
        given.append(0)
    return frame[: start - len(true)] + given + frame[start:]


def mutated_frame(rng: random.Random, frame: bytes, other: bytes) -> bytes:
    changed = bytearray(frame)
    kind = rng.randrange(4)
    if kind == 0:
        _flip(rng, changed)
    elif kind == 1:
        _put(changed, rng.randrange(len(changed)), rng.choice((1, 2, 4, 8)), rng.choice(LIMITS))
    elif kind == 2:
        del changed[rng.randrange(len(changed) + 1) :]
    else:
        _splice(rng, changed, other + rng.randbytes(8))
    return bytes(changed)


def _flip(rng: random.Random, data: bytearray) -> None:
    if data:
        bit = rng.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8


def _put(data: bytearray, at: int, size: int, value: int) -> None:
    """It may end with these bytes, or lie wholly behind the end: then nothing is changed."""
    if at + size <= len(data):
        data[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "big")


def _splice(rng: random.Random, data: bytearray, other: bytes) -> None:
    at, start = rng.randrange(len(data) + 1), rng.randrange(len(other) + 1)
    data[at : at + rng.choice((0, 0, 4, len(data)))] = other[start : start + rng.choice((4, 12, len(other)))]
