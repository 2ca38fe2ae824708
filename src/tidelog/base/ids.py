"""Names for the integers and ids that travel through every room.

They are aliases, not wrappers: a call per offset would cost more than it protects.
"""

import base64
import uuid
from typing import TypeAlias

Offset: TypeAlias = int
Epoch: TypeAlias = int
NodeId: TypeAlias = int
ProducerId: TypeAlias = int
TimestampMs: TypeAlias = int

NO_OFFSET = -1
NO_EPOCH = -1
NO_TIMESTAMP = -1
ANY_REPLICA: NodeId = -2
"""Kafka's id of a debugging consumer, in place of a follower's: it reads any replica, up to its end."""
LAST_TIMESTAMP = 2**63 - 1  # the latest that a record can hold
NO_PRODUCER = -1

Uuid: TypeAlias = bytes
"""A Kafka uuid: sixteen raw bytes, exactly as on the wire."""

ZERO_UUID: Uuid = bytes(16)


def uuid_text(raw: Uuid) -> str:
    """Kafka's way to print an id: url-safe base64 without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def uuid_parse(text: str) -> Uuid:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    if len(raw) != 16:
        raise ValueError(f"{text!r} is not an id: expected 22 characters of url-safe base64")
    return raw


def uuid_from_random(sixteen: bytes) -> Uuid:
    """A version 4 id from random bytes; never one that prints with a leading dash, which shells dislike."""
    raw = uuid.UUID(bytes=sixteen, version=4).bytes
    return raw if raw[0] >> 2 != 62 else bytes([raw[0] ^ 0x80]) + raw[1:]
