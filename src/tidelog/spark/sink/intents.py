"""What becomes of a batch that several tasks wrote, each in a transaction of its own.

The driver writes an intent: the batch is committed, and these are its transactions. From then on the batch
counts, whatever crashes; before it, the batch never happened. The functions here decide, without I/O.
docs/adr/0009 tells why this is enough.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import msgspec

from tidelog.blocking.producer_identity import ProducerIdentity

VERSION = 1


class Participant(msgspec.Struct, frozen=True):
    """A transaction that a task wrote and left open."""

    id: str
    writer: ProducerIdentity
    """Under which the task wrote. No other transaction of this id ever has the same."""
    ender: ProducerIdentity
    """Under which it is ended: the writer's, or the one the driver got when it took the transaction over."""

    def is_same(self, other: "Participant") -> bool:
        return (self.id, self.writer) == (other.id, other.writer)


class Intent(msgspec.Struct, frozen=True):
    """The last batch of a query that was decided. It replaces the one before: Spark begins a batch only when
    the one before is over."""

    query: str
    batch: int
    participants: tuple[Participant, ...]
    is_prepared: bool
    """Whether the coordinator keeps the transactions open until they are ended (KIP-939)."""
    version: int = VERSION

    def __contains__(self, one: Participant) -> bool:
        return any(one.is_same(each) for each in self.participants)


class UnknownIntent(ValueError):
    """Written by a later version of this sink, or by another program."""


def encode(intent: Intent) -> bytes:
    return msgspec.json.encode(intent)


def decode(value: bytes) -> Intent:
    try:
        intent = msgspec.json.decode(value, type=Intent)
    except msgspec.MsgspecError as error:
        raise UnknownIntent(f"an intent that cannot be read: {error}") from None
    if intent.version != VERSION:
        raise UnknownIntent(f"an intent of version {intent.version}; this sink knows {VERSION}")
    return intent


class Course(Enum):
    """What to do with a batch, by what was decided before."""

    DECIDE = "nothing was decided: write the intent, then commit"
    FINISH = "it was decided: commit what the intent names, abort what was written since"
    PASSED = "a later batch was decided: abort what was written"


class Plan(NamedTuple):
    course: Course
    commit: Sequence[Participant]
    abort: Sequence[Participant]


def plan_commit(decided: Intent | None, batch: int, written: Sequence[Participant]) -> Plan:
    if decided is None or decided.batch < batch:
        return Plan(Course.DECIDE, written, ())
    return _after_decision(decided, batch, written)


def plan_abort(decided: Intent | None, batch: int, written: Sequence[Participant]) -> Plan:
    """Spark also aborts when a commit failed, and that may have been after its decision."""
    if decided is None or decided.batch < batch:
        return Plan(Course.DECIDE, (), written)
    return _after_decision(decided, batch, written)


def _after_decision(decided: Intent, batch: int, written: Sequence[Participant]) -> Plan:
    course = Course.FINISH if decided.batch == batch else Course.PASSED
    return Plan(course, decided.participants, [one for one in written if one not in decided])


def is_written_already(decided: Intent | None, batch: int) -> bool:
    """Asked by a task before it begins a transaction: a replay of a decided batch has nothing to write."""
    return decided is not None and decided.batch >= batch


def strays(
    open_: Mapping[str, ProducerIdentity], decided: Intent | None
) -> list[tuple[str, ProducerIdentity]]:
    """Of the ids with an open transaction by this writer, those that no intent names and none ever will: of
    attempts that failed, lost a race or were never heard of. `open_`: as it was when only this driver could
    decide; what was begun since may be the next driver's, and decided by it."""
    kept = () if decided is None else {(one.id, one.writer) for one in decided.participants}
    return sorted(one for one in open_.items() if one not in kept)


def lost_batch(intent: Intent, lost: Sequence[Participant]) -> str:
    names = ", ".join(one.id for one in lost)
    return (
        f"batch {intent.batch} of query {intent.query} was decided, but {len(lost)} of its "
        f"{len(intent.participants)} transactions were aborted before they could be committed ({names}). "
        "The driver was away for longer than kafka.transaction.timeout.ms; a cluster with "
        "transaction.two.phase.commit.enable=true waits instead. The rows of these transactions are not in "
        "the output; to go on without them set the option lostTransactions to skip"
    )
