"""Members of consumer groups: clients that read on their own in other processes, and what they tell about it.

A member polls without being asked, and notes what happens to it: partitions come and go, records, errors.
Tests wait until the notes say what they hope for. Commands to the process, beside those of agent.py:
join_group, take_notes, commit, committed and leave_group; each names the member.
"""

import itertools
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from tests.interop.driver import PATIENCE_S, Record

NUMBERS = itertools.count(1)


class Note(NamedTuple):
    time_ms: float
    kind: str
    """assigned and revoked (partitions), records ((partition, offset) pairs), failed (code and words)"""
    what: Any


class Committed(NamedTuple):
    offset: int
    metadata: str = ""


class Process(Protocol):
    """Where members live: an Agent, whatever its language."""

    def ask(self, do: str, **arguments: Any) -> Any: ...

    def signal(self, number: int) -> None: ...

    def close(self) -> None: ...


class GroupMember:
    exact_clock = True
    """Whether a note's time is the moment of what it notes."""

    def __init__(self, process: Process, own_process: bool, **wanted: Any) -> None:
        self._process = process
        self._own_process = own_process
        self._name = f"member-{next(NUMBERS)}"
        self._is_open = True
        self.ended_ms: float | None = None
        self.notes: list[Note] = []
        self._ask("join_group", **wanted)

    def _ask(self, do: str, **arguments: Any) -> Any:
        return self._process.ask(do, member=self._name, **arguments)

    def look(self) -> "GroupMember":
        """Fetch what was noted since the last look."""
        if self._is_open:
            self.notes += [Note(*note) for note in self._ask("take_notes")]
        return self

    def commit(self, offsets: Mapping[int, Committed] | None = None, *, wait: bool = True) -> None:
        """Commit these offsets, or all that was read; without `wait`, in the client's asynchronous way."""
        named = None if offsets is None else {str(index): list(one) for index, one in offsets.items()}
        self._ask("commit", offsets=named, wait=wait)

    def committed(self, partitions: Iterable[int]) -> dict[int, Committed]:
        answer = self._ask("committed", partitions=list(partitions))
        return {index: Committed(offset, metadata) for index, offset, metadata in answer}

    def close(self) -> None:
        """Leave the group as a client does that is closed."""
        if not self._is_open:
            return
        ended_ms = time.time() * 1000
        self.notes += [Note(*note) for note in self._ask("leave_group")]
        self._end(ended_ms)

    def kill(self) -> None:
        """End its process at once, as a crash does."""
        self.look()
        self.signal(signal.SIGKILL)
        self._end(time.time() * 1000)

    def signal(self, number: int) -> None:
        assert self._own_process, "other members live in that process too"
        self._process.signal(number)

    def _end(self, ended_ms: float) -> None:
        self._is_open = False
        self.ended_ms = ended_ms
        if self._own_process:
            self._process.close()

    # --- what the notes say

    @property
    def owned(self) -> set[int]:
        owned: set[int] = set()
        for note in self.notes:
            if note.kind == "assigned":
                owned |= set(note.what)
            elif note.kind == "revoked":
                owned -= set(note.what)
        return owned

    @property
    def records(self) -> list[tuple[int, int]]:
        """All that it read, as (partition, offset)."""
        return [
            (index, offset) for note in self.notes if note.kind == "records" for index, offset in note.what
        ]

    @property
    def failures(self) -> list[int]:
        return [note.what[0] for note in self.notes if note.kind == "failed"]

    @property
    def rebalances(self) -> int:
        return sum(note.kind in ("assigned", "revoked") for note in self.notes)

    @property
    def tenures(self) -> list[tuple[int, float, float]]:
        """(partition, from, to) for each time that it owned a partition."""
        since: dict[int, float] = {}
        tenures = []
        for note in self.notes:
            if note.kind == "assigned":
                since |= dict.fromkeys(note.what, note.time_ms)
            elif note.kind == "revoked":
                for index in note.what:
                    if index in since:
                        tenures.append(
                            (index, since.pop(index), min(note.time_ms, self.ended_ms or note.time_ms))
                        )
        return tenures + [(index, start, self.ended_ms or float("inf")) for index, start in since.items()]


class Writer:
    """Writes records to every partition in turn, and knows what is there to be read."""

    def __init__(self, reference: Any, topic: str, partitions: int) -> None:
        self._reference = reference
        self._topic = topic
        self._partitions = partitions
        self.written: list[tuple[int, int]] = []

    def write(self, each: int = 5) -> list[tuple[int, int]]:
        start = len(self.written) // self._partitions
        added = [
            (index, offset) for offset in range(start, start + each) for index in range(self._partitions)
        ]
        records = [Record(b"k", b"%d" % offset, partition=index) for index, offset in added]
        self._reference.produce(self._topic, records)
        self.written += added
        return added


def wait_for(
    members: Iterable[GroupMember], holds: Callable[[], bool], what: str | Callable[[], str]
) -> None:
    """Look at the members again and again until it holds."""
    members = list(members)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for member in members:
            member.look()
        if holds():
            return
        if time.monotonic() > deadline:
            told = "\n".join(f"member {n}: … {member.notes[-4:]}" for n, member in enumerate(members))
            raise AssertionError(f"it never came true: {what if isinstance(what, str) else what()}\n{told}")
        time.sleep(0.05)


def wait_until_shared(members: Iterable[GroupMember], partitions: int) -> None:
    """Until every partition has one owner and none of the members is idle or has much more than another."""
    members = list(members)

    def is_shared() -> bool:
        owned = [member.owned for member in members]
        counts = [len(mine) for mine in owned]
        return sum(counts) == partitions == len(set().union(*owned)) and max(counts) - min(counts) <= 1

    wait_for(members, is_shared, f"{len(members)} members share {partitions} partitions")


def wait_until_read(members: Iterable[GroupMember], expected: Iterable[tuple[int, int]]) -> None:
    members, expected = list(members), set(expected)

    def missing() -> set[tuple[int, int]]:
        return expected.difference(*(member.records for member in members))

    wait_for(members, lambda: not missing(), lambda: f"every record is read, even {sorted(missing())}")


def check_order(members: Iterable[GroupMember]) -> None:
    """While a member owns a partition it reads record by record, without a gap and without a step back."""
    for member in members:
        following: dict[int, int] = {}
        for note in member.notes:
            if note.kind == "assigned":
                for index in note.what:
                    following.pop(index, None)
            elif note.kind == "records":
                for index, offset in note.what:
                    assert following.get(index, offset) == offset, (index, offset, member.notes)
                    following[index] = offset + 1


def check_one_owner(members: Iterable[GroupMember]) -> None:
    """No partition belonged to two members at a time."""
    tenures = sorted(tenure for member in members if member.exact_clock for tenure in member.tenures)
    for (index, _, end), (other, start, _) in itertools.pairwise(tenures):
        assert index != other or end <= start, (index, end, start)
