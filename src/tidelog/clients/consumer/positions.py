"""How far the application has come in each partition: handed out, handled, committed.

A message is handed out when the application gets it, and handled when it asks for the next one. `commit()`
commits what was handed out; auto-commit only what was handled, so a crash repeats messages and loses none.
"""

import threading
from collections.abc import Iterable, Mapping

from tidelog.clients.records import TopicPartition


class Positions:
    """Offsets are those of the next message. Used from two threads by the asyncio consumer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next: dict[TopicPartition, int] = {}
        self._uncommitted: dict[TopicPartition, int] = {}
        self._first_uncommitted: dict[TopicPartition, int] = {}
        self._lost: set[TopicPartition] = set()
        self._in_hand: dict[TopicPartition, int] = {}
        self._handled: dict[TopicPartition, int] = {}
        self._by_place = (
            self._next,
            self._uncommitted,
            self._first_uncommitted,
            self._in_hand,
            self._handled,
        )

    def hand_out(self, place: TopicPartition, offset: int) -> None:
        with self._lock:
            self._next[place] = self._uncommitted[place] = self._in_hand[place] = offset + 1
            self._first_uncommitted.setdefault(place, offset)

    def all_handled(self) -> None:
        """The application asks for more: it is done with what it has."""
        with self._lock:
            self._handled.update(self._in_hand)
            self._in_hand.clear()

    def take_handled(self) -> dict[TopicPartition, int]:
        """What was handled since the last call."""
        with self._lock:
            taken = dict(self._handled)
            self._handled.clear()
            return taken

    def uncommitted(self) -> dict[TopicPartition, int]:
        with self._lock:
            return dict(self._uncommitted)

    def committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        with self._lock:
            for place, offset in offsets.items():
                if self._uncommitted.get(place) == offset:
                    del self._uncommitted[place]
                    del self._first_uncommitted[place]
                elif place in self._uncommitted:
                    self._first_uncommitted[place] = offset

    def first_uncommitted(self) -> dict[TopicPartition, int]:
        """Where the messages begin that were handed out and not committed."""
        with self._lock:
            return dict(self._first_uncommitted)

    def lose(self, places: Iterable[TopicPartition]) -> None:
        """The group takes partitions away; those with messages that were not committed are remembered."""
        with self._lock:
            self._lost.update(place for place in places if place in self._uncommitted)

    def take_lost(self) -> set[TopicPartition]:
        """Another consumer gets messages of these that this one has handed out."""
        with self._lock:
            taken, self._lost = self._lost, set()
            return taken

    def move(self, place: TopicPartition, offset: int | None) -> None:
        """A seek: what was handed out before is not to be committed over it. None: not known yet."""
        self.forget([place])
        if offset is not None:
            with self._lock:
                self._next[place] = offset

    def forget(self, places: Iterable[TopicPartition]) -> None:
        with self._lock:
            for place in places:
                for each in self._by_place:
                    each.pop(place, None)

    def next_of(self, place: TopicPartition) -> int | None:
        with self._lock:
            return self._next.get(place)
