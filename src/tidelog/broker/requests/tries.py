"""A request to the controller over all its tries: topics that one of them made are known to the later ones.

Each try has topic ids of its own, since an id is never used again: a topic that an earlier try made may have
been deleted meanwhile.
"""

from collections.abc import Iterator
from hashlib import sha256

import msgspec

from tidelog.base.ids import Uuid, uuid_from_random

TRIES_MAX = 4096
"""Tries that are looked back on: more than the longest patience has room for."""


class Tries(msgspec.Struct):
    token: bytes
    """Random, and in no other request."""
    attempt: int = -1
    """The number of the present try; none has begun yet."""

    def begin(self) -> None:
        self.attempt += 1

    def topic_ids(self, name: str) -> Iterator[Uuid]:
        """The id that this try gives to a topic, then those of the tries before, the latest first.

        As good as random, and the same wherever they are asked for.
        """
        for attempt in range(self.attempt, max(self.attempt - TRIES_MAX, -1), -1):
            of_this_try = f"{name}/{attempt}" if attempt else name  # no topic's name has a slash
            yield uuid_from_random(sha256(self.token + of_this_try.encode()).digest()[:16])
