"""Members of share groups: clients in other processes that take and acknowledge as a test tells them.

A member that `works` takes and accepts by itself, and notes what it took and what the broker confirmed.
Commands to the process, beside those of ../agent.py: join_share, take, settle, flush, work,
take_share_notes and leave_share; each names the member.
"""

import itertools
import signal
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tests.interop.driver import PATIENCE_S
from tests.interop.group_member import Process

NUMBERS = itertools.count(1)
Where = tuple[str, int, int]
"""A topic, a partition and an offset."""


class Taken(NamedTuple):
    """A record as a member got it."""

    topic: str
    partition: int
    offset: int
    deliveries: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def where(self) -> Where:
        return self.topic, self.partition, self.offset


class ShareMember:
    def __init__(self, process: Process, own_process: bool, **wanted: Any) -> None:
        self._process = process
        self._own_process = own_process
        self._name = f"share-member-{next(NUMBERS)}"
        self._is_open = True
        self.notes: list[tuple[float, str, Any]] = []
        self._ask("join_share", **wanted)

    def _ask(self, do: str, **arguments: Any) -> Any:
        return self._process.ask(do, member=self._name, **arguments)

    def take(self, patience_s: float = 10.0) -> list[Taken]:
        """The records of the next poll that has any; none when the patience ends."""
        return [taken(fields) for fields in self._ask("take", patience_ms=int(patience_s * 1000))]

    def take_all(self, count: int) -> list[Taken]:
        """So many records by as many polls as that takes; an implicit member accepts all but the last."""
        got: list[Taken] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(got) < count and time.monotonic() < deadline:
            got += self.take(1)
        assert len(got) == count, f"{len(got)} of {count} records came"
        return got

    def settle(self, records: Iterable[Taken], kind: str = "accept") -> None:
        """Acknowledge; the broker hears of it with the next flush or take."""
        self._ask("settle", places=[record.where for record in records], kind=kind)

    def flush(self) -> dict[tuple[str, int], int]:
        """Send what was acknowledged; answers with an error code for each partition, 0 for none."""
        return {(topic, index): code for topic, index, code in self._ask("flush")}

    def finish(self, records: Iterable[Taken], kind: str = "accept") -> None:
        """Acknowledge and insist that the broker agrees."""
        self.settle(records, kind)
        answers = self.flush()
        assert set(answers.values()) == {0}, answers

    def work(self) -> "ShareMember":
        self._ask("work")
        return self

    def look(self) -> None:
        """Fetch what was noted since the last look."""
        if self._is_open:
            self.notes += [tuple(note) for note in self._ask("take_share_notes")]

    def close(self) -> None:
        """Leave the group as a client does that is closed."""
        if self._is_open:
            self.notes += [tuple(note) for note in self._ask("leave_share")]
            self._end()

    def kill(self) -> None:
        """End its process at once, as a crash does."""
        assert self._own_process, "other members live in that process too"
        self.look()
        self._process.signal(signal.SIGKILL)
        self._end()

    def _end(self) -> None:
        self._is_open = False
        if self._own_process:
            self._process.close()

    # --- what the notes of a working member say

    def noted(self, kind: str) -> list[Any]:
        return [one for _, noted, what in self.notes if noted == kind for one in what]

    @property
    def taken(self) -> list[Where]:
        return [(topic, index, offset) for topic, index, offset, _ in self.noted("taken")]

    @property
    def settled(self) -> list[Where]:
        """What the broker confirmed as accepted."""
        return [(topic, index, offset) for topic, index, offset in self.noted("settled")]

    @property
    def unsettled(self) -> list[Where]:
        """What it accepted without hearing from the broker, or what the broker refused."""
        return [(topic, index, offset) for topic, index, offset in self.noted("unsettled")]

    @property
    def deliveries(self) -> set[int]:
        return {count for *_, count in self.noted("taken")}


def taken(fields: list[Any]) -> Taken:
    topic, index, offset, deliveries, key, value, headers = fields
    named = tuple((name, in_bytes(text)) for name, text in headers)
    return Taken(topic, index, offset, deliveries, in_bytes(key), in_bytes(value), named)


def in_bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


class ShareMembers:
    """The part of a driver that opens members of share groups."""

    can_renew = True
    polls_what_it_renewed = False
    """Whether a renewed record comes by the next poll, to be acknowledged again."""
    can_be_exact = True
    """Whether it has the mode in which no poll brings more records than were asked for."""
    _bootstrap: str
    _start_process: Callable[[], Process]
    _shared_process: Callable[[], Process]

    def join_share(
        self,
        group: str,
        *topics: str,
        explicit: bool = False,
        exact: bool = False,
        max_records: int = 500,
        own_process: bool = False,
        bootstrap: str | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> ShareMember:
        """`settings` go to the client as they are, by its own names."""
        return ShareMember(
            self._start_process() if own_process else self._shared_process(),
            own_process,
            bootstrap=bootstrap or self._bootstrap,
            group=group,
            topics=list(topics),
            explicit=explicit,
            exact=exact,
            max_records=max_records,
            settings=dict(settings or {}),
        )


def wait_until(
    members: Iterable[ShareMember], holds: Callable[[], bool], what: str, patience_s: float = PATIENCE_S
) -> None:
    """Look at working members again and again until it holds."""
    members = list(members)
    deadline = time.monotonic() + patience_s
    while True:
        for member in members:
            member.look()
        if holds():
            return
        if time.monotonic() > deadline:
            told = "\n".join(
                f"member {n}: … {str(member.notes[-4:])[-800:]}" for n, member in enumerate(members)
            )
            raise AssertionError(f"it never came true: {what}\n{told}")
        time.sleep(0.05)


def wait_until_settled(members: Iterable[ShareMember], expected: Iterable[Where]) -> None:
    """Until the broker confirmed every record to some member."""
    members, expected = list(members), set(expected)

    def missing() -> set[Where]:
        return expected.difference(*(member.settled for member in members))

    wait_until(members, lambda: not missing(), f"all {len(expected)} records are settled")
