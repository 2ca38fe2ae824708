"""Which configuration is in force. A configuration entry counts from the moment it is in the log, committed
or not, and stops counting when it is truncated; so older ones are kept.
"""

from tidelog.base.ids import NodeId, Uuid
from tidelog.raft.entries import Configuration, Entry, EntryKind, Index


class Configurations:
    __slots__ = (
        "_history",
        "_node_id",
        "_storage",
        "counted",
        "current",
        "current_index",
        "is_voter",
        "was_voter",
    )

    def __init__(self, node_id: NodeId, storage: Uuid, base_index: Index, base: Configuration) -> None:
        self._node_id = node_id
        self._storage = storage
        self._history: list[tuple[Index, Configuration]] = []
        self._put(base_index, base)

    def _put(self, index: Index, configuration: Configuration) -> None:
        self._history.append((index, configuration))
        self._refresh()

    def _refresh(self) -> None:
        """Derived values that every message needs, computed once."""
        self.current_index, self.current = self._history[-1]
        self.counted = self.current.counted
        self.is_voter = self.recognizes(self._node_id, self._storage)
        self.was_voter = len(self._history) > 1 and _recognizes(
            self._history[-2][1], self._node_id, self._storage
        )
        """In the configuration before this one."""

    def recognizes(self, node_id: NodeId, storage: Uuid) -> bool:
        """Whether votes and acknowledgements of this node, made on this disk, count."""
        return _recognizes(self.current, node_id, storage)

    def appended(self, index: Index, entry: Entry) -> None:
        if entry.kind is EntryKind.CONFIG:
            self._put(index, Configuration.decode(entry.data))

    def truncated_from(self, index: Index) -> None:
        while self._history[-1][0] >= index:
            self._history.pop()
        self._refresh()

    def replace(self, index: Index, configuration: Configuration) -> None:
        self._history.clear()
        self._put(index, configuration)

    def compacted_to(self, index: Index) -> None:
        """Drop configurations that were superseded at or before `index`."""
        while len(self._history) > 1 and self._history[1][0] <= index:
            del self._history[0]

    def at(self, index: Index) -> Configuration:
        """The one in force at index; the oldest known one for indexes before it."""
        for since, configuration in reversed(self._history):
            if since <= index:
                return configuration
        return self._history[0][1]


def _recognizes(configuration: Configuration, node_id: NodeId, storage: Uuid) -> bool:
    voter = configuration.find(node_id)
    return voter is not None and voter.is_held_by(storage)
