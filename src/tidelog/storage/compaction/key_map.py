"""The newest offset of each key, within a limit of memory: what compaction decides by."""

from collections.abc import Iterable
from hashlib import blake2b

from tidelog.base.ids import NO_OFFSET, Offset

_RAW_BYTES_MAX = 40
_DIGEST_BYTES = _RAW_BYTES_MAX + 1
"""One more than the longest key that is kept as it is, so that no key can pass for the digest of another."""

ENTRY_BYTES = 208
"""At most, of a key or digest, its offset, and its share of a dict that has just grown."""


class KeyMap:
    __slots__ = ("_newest", "_size_max")

    def __init__(self, bytes_max: int) -> None:
        self._size_max = max(1, bytes_max // ENTRY_BYTES)
        self._newest: dict[bytes, Offset] = {}

    def __len__(self) -> int:
        return len(self._newest)

    def put_all(self, entries: Iterable[tuple[bytes, Offset]]) -> bool:
        """Remember these, in the order of offsets. False once one does not fit; those before it stay."""
        newest, size_max = self._newest, self._size_max
        for key, offset in entries:
            short = key if len(key) <= _RAW_BYTES_MAX else _digest(key)
            if len(newest) >= size_max and short not in newest:
                return False
            newest[short] = offset
        return True

    def put_first(self, entries: Iterable[tuple[bytes, Offset]]) -> None:
        """The first batch of a round fits by definition: without it no round would ever get further."""
        for key, offset in entries:
            self._newest[key if len(key) <= _RAW_BYTES_MAX else _digest(key)] = offset

    def newest(self, key: bytes) -> Offset:
        """-1 for a key that was not seen."""
        return self._newest.get(key if len(key) <= _RAW_BYTES_MAX else _digest(key), NO_OFFSET)


def _digest(key: bytes) -> bytes:
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
