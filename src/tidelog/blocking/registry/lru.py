"""A dictionary of limited size that forgets what was not used for the longest time."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruDict(Generic[K, V]):
    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        value = self._entries.get(key)
        if value is not None:
            try:
                self._entries.move_to_end(key)
            except KeyError:
                pass  # another thread has just dropped it
        return value

    def put(self, key: K, value: V) -> V:
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._size_max:
            self._entries.popitem(last=False)
        return value

    def __len__(self) -> int:
        return len(self._entries)
