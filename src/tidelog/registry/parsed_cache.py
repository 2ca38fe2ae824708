"""Parsed schemas that are kept, within a bound on all their texts together.

A parsed schema takes some ten times the memory of its text. Counted by their texts, a subject with a thousand
small versions fits, and a flood of large schemas does not fill the memory.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from tidelog.registry.parsed import ParsedSchema

LARGE_PARTS = 8
"""A schema that is more than such a part of the bound is not kept: the others stay."""

SourceT = TypeVar("SourceT", bound=Hashable)


class ParsedCache(Generic[SourceT]):
    """For any thread. What was not asked for longest goes first."""

    def __init__(
        self, parse: Callable[[SourceT], ParsedSchema], chars: Callable[[SourceT], int], chars_max: int
    ) -> None:
        self._parse = parse
        self._chars = chars
        self._chars_max = chars_max
        self._kept: OrderedDict[SourceT, ParsedSchema] = OrderedDict()
        self._lock = Lock()
        self.kept_chars = 0

    def get(self, source: SourceT) -> ParsedSchema:
        with self._lock:
            known = self._kept.get(source)
            if known is not None:
                self._kept.move_to_end(source)
                return known
        parsed = self._parse(source)
        chars = self._chars(source)
        if chars > self._chars_max // LARGE_PARTS:
            return parsed
        with self._lock:
            if source not in self._kept:
                self._kept[source] = parsed
                self.kept_chars += chars
            while self.kept_chars > self._chars_max:
                self.kept_chars -= self._chars(self._kept.popitem(last=False)[0])
        return parsed

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.kept_chars = 0
