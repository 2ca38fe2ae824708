"""A transactional id as the log knows it: one record is the whole of it, and a change is a new one."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from tidelog.base.ids import NO_EPOCH, NO_PRODUCER, NO_TIMESTAMP, ProducerId, TimestampMs
from tidelog.base.invariant import invariant
from tidelog.transactions.states import ENDING, IDLE, NEXT, State

EPOCH_MAX = 2**15 - 1
"""Never given to a producer, so that one with the last epoch can still be fenced."""
EPOCHS_END = EPOCH_MAX - 1
"""From here on a producer needs a new id."""

NO_TIMEOUT_MS = 2**31 - 1
"""The timeout of a two-phase participant: its transactions wait for an outside coordinator to decide."""

EPOCH_BUMPS = 2
"""The transaction version (KIP-890) from which on every transaction ends with a new epoch."""


class NeedsProducerId(Exception):
    """A decision needs a producer id that was never used; call again with one."""


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class Identity(NamedTuple):
    """Distinguishes a producer from those that used its transactional id before."""

    producer_id: ProducerId = NO_PRODUCER
    epoch: int = NO_EPOCH

    def bumped(self, spare_id: ProducerId | None) -> "Identity":
        """The one that fences this one: its next epoch, or a new producer id after the last."""
        if self.epoch < EPOCHS_END:
            return Identity(self.producer_id, self.epoch + 1)
        if spare_id is None:
            raise NeedsProducerId
        return Identity(spare_id, 0)


NO_IDENTITY = Identity()


class Transaction(msgspec.Struct, frozen=True):
    id: str
    writer: Identity
    """With which markers are written, and data of the transaction that is under way."""
    state: State
    timeout_ms: int
    updated_ms: TimestampMs
    partitions: tuple[TopicPartition, ...] = ()
    """In order. Those that have data, or may have."""
    started_ms: TimestampMs = NO_TIMESTAMP
    version: int = 0
    """The transaction version that the client used last."""
    next: Identity = NO_IDENTITY
    """What the client goes by, where that is not `writer`: the epochs of the old id are used up, or a
    prepared transaction was kept for the producer's next incarnation (KIP-939)."""
    previous_id: ProducerId = NO_PRODUCER
    """The producer id before the present one."""

    @property
    def client(self) -> Identity:
        """The identity that the producer got with the last answer, or gets with the next."""
        return self.writer if self.next.producer_id == NO_PRODUCER else self.next

    @property
    def is_idle(self) -> bool:
        return self.state in IDLE

    @property
    def is_ending(self) -> bool:
        return self.state in ENDING

    @property
    def is_kept(self) -> bool:
        """A prepared transaction that outlived its producer: its successor may only end it."""
        return self.state is State.ONGOING and self.next != NO_IDENTITY

    @property
    def commits(self) -> bool:
        return self.state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)

    def to(self, state: State, now_ms: TimestampMs, **changes: object) -> "Transaction":
        """The same in another state; a way that the table does not know is our own mistake."""
        invariant(state in NEXT[self.state], "no way leads there", now=self.state, wanted=state, id=self.id)
        # A clock that was set back must not make an id look younger than it is.
        updated = max(now_ms, self.updated_ms)
        return msgspec.structs.replace(self, state=state, updated_ms=updated, **changes)


def in_order(partitions: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(sorted(set(partitions)))
