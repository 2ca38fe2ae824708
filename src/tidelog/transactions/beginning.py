"""InitProducerId: a producer comes, or comes back. It gets an epoch by which those before it are refused."""

from typing import NamedTuple

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, NO_PRODUCER, NO_TIMESTAMP, ProducerId, TimestampMs
from tidelog.coordination.decision import ShardDecision
from tidelog.transactions.ending import fence
from tidelog.transactions.messages import InitAnswer, InitRequest
from tidelog.transactions.record_format import record_of
from tidelog.transactions.settings import TransactionSettings
from tidelog.transactions.states import State
from tidelog.transactions.transaction import (
    EPOCH_MAX,
    EPOCHS_END,
    NO_IDENTITY,
    NO_TIMEOUT_MS,
    Identity,
    NeedsProducerId,
    Transaction,
)


class Spare(NamedTuple):
    """What a decision about a known id may need besides the id's record."""

    producer_id: ProducerId | None
    """An id that was never used."""
    bumped_from: int
    """The epoch from which the last producer that named its own got its present one."""


def init(
    found: Transaction | None,
    request: InitRequest,
    settings: TransactionSettings,
    spare: Spare,
    now_ms: TimestampMs,
) -> ShardDecision[InitAnswer]:
    try:
        timeout_ms = _checked_timeout(request, settings)
        if found is None:
            return _new(request, timeout_ms, spare.producer_id, now_ms)
        _check_expected(found, request.expected)
        if found.is_ending:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if found.state is State.ONGOING:
            return _during_transaction(found, request, timeout_ms, spare.producer_id, now_ms)
        renewed = msgspec.structs.replace(found, timeout_ms=timeout_ms)
        return _next(renewed, request.expected, spare, now_ms)
    except KafkaError as refusal:
        return ShardDecision.of(InitAnswer(refusal.code), InitAnswer)


def _checked_timeout(request: InitRequest, settings: TransactionSettings) -> int:
    if not request.transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if (request.expected.producer_id == NO_PRODUCER) != (request.expected.epoch == NO_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if request.two_phase and not settings.two_phase_commit:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if request.keep_prepared and not request.two_phase:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if request.two_phase:
        return NO_TIMEOUT_MS
    if not 0 < request.timeout_ms <= settings.timeout_ms_max:
        raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    return request.timeout_ms


def _new(
    request: InitRequest, timeout_ms: int, spare_id: ProducerId | None, now_ms: TimestampMs
) -> ShardDecision[InitAnswer]:
    """A producer may bring an id although we know none: it expired here, so it is as good as new."""
    if spare_id is None:
        raise NeedsProducerId
    made = Transaction(request.transactional_id, Identity(spare_id, 0), State.EMPTY, timeout_ms, now_ms)
    return ShardDecision.of(InitAnswer(ErrorCode.NONE, made.client), InitAnswer, (record_of(made),))


def _check_expected(found: Transaction, expected: Identity) -> None:
    """Its epoch is looked at later: it may be the last one, if the answer to an earlier try was lost."""
    is_rotated = expected.producer_id == found.previous_id and expected.epoch >= EPOCHS_END
    if expected != NO_IDENTITY and expected.producer_id != found.client.producer_id and not is_rotated:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)


def _during_transaction(
    found: Transaction,
    request: InitRequest,
    timeout_ms: int,
    spare_id: ProducerId | None,
    now_ms: TimestampMs,
) -> ShardDecision[InitAnswer]:
    if request.expected not in (NO_IDENTITY, found.client):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if not request.keep_prepared:
        # The new producer gets its epoch once the old one's transaction is ended everywhere. It is the old
        # one itself if it names itself, and does so again when it retries.
        fenced = record_of(fence(found, now_ms, may_go_on=request.expected != NO_IDENTITY))
        refused = InitAnswer(ErrorCode.CONCURRENT_TRANSACTIONS)
        return ShardDecision.of(refused, InitAnswer, (fenced,))
    client = found.client.bumped(spare_id)
    # The producer that keeps it is a two-phase participant, even if the one that began it had a timeout.
    kept = found.to(State.ONGOING, now_ms, next=client, timeout_ms=timeout_ms)
    return ShardDecision.of(InitAnswer(ErrorCode.NONE, client, found.writer), InitAnswer, (record_of(kept),))


def _next(
    found: Transaction, expected: Identity, spare: Spare, now_ms: TimestampMs
) -> ShardDecision[InitAnswer]:
    client = found.client
    if expected in (NO_IDENTITY, client):
        bumped = client.bumped(spare.producer_id)
    elif expected.epoch == spare.bumped_from:
        # The answer to an earlier try was lost, or it had to wait; no other producer has come since.
        bumped = client if client.epoch < EPOCH_MAX else client.bumped(spare.producer_id)
    else:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    is_same = bumped.producer_id == client.producer_id
    made = found.to(
        State.EMPTY,
        now_ms,
        writer=bumped,
        started_ms=NO_TIMESTAMP,
        previous_id=found.previous_id if is_same else client.producer_id,
    )
    return ShardDecision.of(InitAnswer(ErrorCode.NONE, bumped), InitAnswer, (record_of(made),))
