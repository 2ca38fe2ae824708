"""A snapshot that arrives in chunks. Memory grows with the bytes received, never with the announced size."""

from tidelog.base.ids import NodeId
from tidelog.raft.entries import Configuration, Index, Term
from tidelog.raft.messages import InstallSnapshot
from tidelog.raft.ready import Snapshot


class IncomingSnapshot:
    __slots__ = ("_data", "_key", "_total")

    def __init__(self, chunk: InstallSnapshot) -> None:
        self._key = key_of(chunk)
        self._total = chunk.total
        self._data = bytearray()

    @property
    def received(self) -> int:
        return len(self._data)

    @property
    def is_complete(self) -> bool:
        return len(self._data) == self._total

    def is_for(self, chunk: InstallSnapshot) -> bool:
        return self._key == key_of(chunk)

    def take(self, chunk: InstallSnapshot) -> None:
        """Drops a chunk that is out of order: the response names the expected position."""
        if chunk.position == len(self._data):
            self._data += chunk.data

    def finish(self, chunk: InstallSnapshot) -> Snapshot:
        configuration = Configuration.decode(chunk.configuration)
        return Snapshot(chunk.index, chunk.index_term, configuration, bytes(self._data))


def key_of(chunk: InstallSnapshot) -> tuple[NodeId, Term, Index, Term, int]:
    return chunk.sender, chunk.term, chunk.index, chunk.index_term, chunk.total
