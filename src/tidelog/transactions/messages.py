"""What producers and brokers ask of the coordinator, and what it answers."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import NO_TIMESTAMP, ProducerId, TimestampMs
from tidelog.transactions.transaction import NO_IDENTITY, Identity, TopicPartition


class InitRequest(NamedTuple):
    transactional_id: str
    timeout_ms: int
    expected: Identity = NO_IDENTITY
    """What the producer goes by so far (KIP-360): it wants to go on after an error."""
    two_phase: bool = False
    keep_prepared: bool = False


class InitAnswer(NamedTuple):
    error: ErrorCode
    producer: Identity = NO_IDENTITY
    ongoing: Identity = NO_IDENTITY
    """Of the transaction that was kept for this producer to end."""


class AddRequest(NamedTuple):
    transactional_id: str
    producer: Identity
    partitions: Collection[TopicPartition]
    version: int = 0
    """The transaction version of the client: 2 where the partition's leader asks in its name."""


class VerifyAnswer(NamedTuple):
    partition: TopicPartition
    error: ErrorCode


class EndRequest(NamedTuple):
    transactional_id: str
    producer: Identity
    commit: bool
    version: int = 0


class EndAnswer(NamedTuple):
    error: ErrorCode
    producer: Identity = NO_IDENTITY
    """By which the producer goes from now on."""


class DescribedTransaction(NamedTuple):
    transactional_id: str
    error: ErrorCode = ErrorCode.NONE
    state: str = ""
    timeout_ms: int = 0
    started_ms: TimestampMs = NO_TIMESTAMP
    producer: Identity = NO_IDENTITY
    partitions: Sequence[TopicPartition] = ()


class ListFilter(NamedTuple):
    """Empty: no matter."""

    states: Collection[str] = ()
    producer_ids: Collection[ProducerId] = ()
    duration_ms: int = -1
    """Only those that have run for longer."""


class ListedTransaction(NamedTuple):
    transactional_id: str
    producer_id: ProducerId
    state: str
