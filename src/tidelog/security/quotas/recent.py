"""What was used lately, and no more: a bounded map that forgets what is idle without searching for it.

There are two generations. A lookup moves an entry to the recent one; with each `tick` the recent one becomes
the older one, and the older one goes.
"""

from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class Recent(Generic[KeyT, ValueT]):
    __slots__ = ("_max", "_older", "_recent")

    def __init__(self, entries_max: int) -> None:
        """`entries_max` is for a generation: a full one ends early, which costs idle entries their place."""
        self._max = entries_max
        self._recent: dict[KeyT, ValueT] = {}
        self._older: dict[KeyT, ValueT] = {}

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def find(self, key: KeyT) -> ValueT | None:
        value = self._recent.get(key)
        if value is None and (value := self._older.pop(key, None)) is not None:
            self.put(key, value)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        if len(self._recent) >= self._max:
            self.tick()
        self._recent[key] = value

    def tick(self) -> None:
        """Forget what was not used since the tick before."""
        self._older, self._recent = self._recent, {}

    def clear(self) -> None:
        self._recent, self._older = {}, {}
