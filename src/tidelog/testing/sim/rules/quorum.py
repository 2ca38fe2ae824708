"""What must hold for the voters and their log."""

import zlib
from collections.abc import Iterator

from tidelog.testing.sim.cluster.view import View


class RaftLeaders:
    """One Raft leader for each term."""

    def __init__(self) -> None:
        self._leaders: dict[int, int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            raft = view.raft
            if raft.is_leader:
                leader = self._leaders.setdefault(raft.term, view.machine.id)
                if leader != view.machine.id:
                    yield f"{leader} and {view.machine.id} lead the quorum in term {raft.term}"


class CommittedEntries:
    """An entry of the metadata log that was committed somewhere is the same everywhere and for ever."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[int, int]] = {}
        self._checked: dict[str, int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            raft, log = view.raft, view.raft_log
            first = max(self._checked.get(view.life, 0), log.base_index) + 1
            for index in range(first, raft.commit_index + 1):
                entry = log.entry(index)
                mark = entry.term, zlib.crc32(entry.data)
                committed = self._entries.setdefault(index, mark)
                if committed != mark:
                    yield f"entry {index} of the metadata is committed as {committed}; {view.life} has {mark}"
            self._checked[view.life] = max(first - 1, raft.commit_index)


class OwnTerm:
    """A Raft leader commits by counting what it wrote in its own term, and the rest along with that."""

    def __init__(self) -> None:
        self._commits: dict[tuple[str, int], int] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for view in seen:
            raft, log = view.raft, view.raft_log
            if not raft.is_leader:
                continue
            before = self._commits.setdefault((view.life, raft.term), raft.commit_index)
            if raft.commit_index > before and log.term_at(raft.commit_index) != raft.term:
                yield (
                    f"{view.life} leads the quorum in term {raft.term} and has committed entry "
                    f"{raft.commit_index} of term {log.term_at(raft.commit_index)} by counting"
                )
