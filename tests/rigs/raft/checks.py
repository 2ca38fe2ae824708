"""What Raft promises, checked from outside against a plain list of what was committed.

One leader per term; a committed entry never changes; state machines apply the same entries in the same
order; a leader has every committed entry; logs that agree on an entry agree on all before it.
"""

from collections.abc import Iterable

from tests.rigs.raft.member import Member
from tidelog.base.ids import NodeId
from tidelog.raft.entries import Entry, Index, Term


class PromiseBroken(AssertionError):
    """Raft did what it must never do."""


class Checks:
    def __init__(self) -> None:
        self.leaders: dict[Term, tuple[NodeId, bytes]] = {}
        self.committed: dict[Index, Entry] = {}
        self._commit_indexes: dict[tuple[NodeId, int], Index] = {}

    def applied(self, node_id: NodeId, index: Index, entry: Entry) -> None:
        known = self.committed.setdefault(index, entry)
        if known != entry:
            raise PromiseBroken(f"node {node_id} applied {entry} at {index}, where {known} was committed")

    def observe(self, member: Member) -> None:
        """To be called after everything a node does."""
        raft = member.raft
        if raft is None:
            return
        self._commit_index_never_falls(member, raft.commit_index)
        if raft.is_leader:
            identity = (member.id, member.disk.storage)
            known = self.leaders.get(raft.term)
            if known is None:
                self.leaders[raft.term] = identity
                self._leader_is_complete(member)
            elif known != identity:
                raise PromiseBroken(f"{known} and {identity} both lead in term {raft.term}")

    def _commit_index_never_falls(self, member: Member, commit_index: Index) -> None:
        key = (member.id, member.starts)
        if commit_index < self._commit_indexes.get(key, commit_index):
            raise PromiseBroken(f"the commit index of node {member.id} fell to {commit_index}")
        self._commit_indexes[key] = commit_index

    def _leader_is_complete(self, member: Member) -> None:
        raft = member.raft
        if raft is None:
            return
        for index, entry in self.committed.items():
            if index > member.disk.base[0] and raft.term_at(index) != entry.term:
                raise PromiseBroken(
                    f"node {member.id} leads in term {raft.term} without the committed {entry} at {index}"
                )

    def logs_match(self, members: Iterable[Member]) -> None:
        seen: dict[tuple[Index, Term], tuple[Entry, Term | None]] = {}
        for member in members:
            index, before = member.disk.base
            for entry in member.disk.entries:
                index += 1
                known = seen.setdefault((index, entry.term), (entry, before))
                if known != (entry, before):
                    raise PromiseBroken(
                        f"two entries of term {entry.term} at {index}: {known[0]} and {entry}"
                    )
                before = entry.term
