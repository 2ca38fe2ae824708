"""How a transaction is ended: by its producer, by a newer one, or by its timeout.

With KIP-890 (version 2) every end gives the producer a new epoch, and the markers carry it. So a request of
an earlier transaction that was delayed on its way is told from one of the present, and refused.
"""

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.transactions.messages import EndAnswer, EndRequest
from tidelog.transactions.outcome import Outcome, record
from tidelog.transactions.states import State
from tidelog.transactions.transaction import (
    EPOCH_BUMPS,
    EPOCH_MAX,
    EPOCHS_END,
    NOBODY,
    Identity,
    Transaction,
)


def end(
    found: Transaction | None, request: EndRequest, spare_id: ProducerId | None, now_ms: TimestampMs
) -> Outcome[EndAnswer]:
    try:
        if not request.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if found is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        is_retry = _check_producer(found, request)
        if _is_done_already(found, request, is_retry):
            return Outcome(EndAnswer(ErrorCode.NONE, found.client), EndAnswer)
        ended = _ended(found, request, spare_id, now_ms)
    except KafkaError as refusal:
        return Outcome(EndAnswer(refusal.code), EndAnswer)
    return Outcome(EndAnswer(ErrorCode.NONE, ended.client), EndAnswer, (record(ended),))


def _check_producer(found: Transaction, request: EndRequest) -> bool:
    """Whether this is the same end once more, by the epoch that it came with; KafkaError for a stranger."""
    producer, client = request.producer, found.client
    if found.version >= EPOCH_BUMPS and (_bumped_since(found, producer) or _rotated_since(found, producer)):
        if found.state is State.ONGOING or found.state is State.EMPTY:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        return True
    if producer.producer_id != client.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if producer.epoch != client.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if found.version >= EPOCH_BUMPS and found.is_ending:
        # Its epoch is that of the next transaction, and the one before still has markers to write.
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return False


def _bumped_since(found: Transaction, producer: Identity) -> bool:
    """An epoch of EPOCH_MAX was given to nobody: it comes from fencing, and leaves no retry to answer."""
    client = found.client
    return client == (producer.producer_id, producer.epoch + 1) and client.epoch < EPOCH_MAX


def _rotated_since(found: Transaction, producer: Identity) -> bool:
    """Its end used up the epochs, so the producer goes on with a new id."""
    old_id = found.writer.producer_id if found.is_ending else found.previous_id
    is_new = found.client.epoch == 0 and found.client.producer_id != producer.producer_id
    return is_new and producer == (old_id, EPOCHS_END)


def _is_done_already(found: Transaction, request: EndRequest, is_retry: bool) -> bool:
    """Whether the end that is wanted has been reached; KafkaError where it cannot be."""
    state = found.state
    if state is State.ONGOING:
        return False
    if found.is_ending:
        same = request.commit == (state is State.PREPARE_COMMIT)
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS if same else ErrorCode.INVALID_TXN_STATE)
    if is_retry or request.version < EPOCH_BUMPS:
        if state == (State.COMPLETE_COMMIT if request.commit else State.COMPLETE_ABORT):
            return True
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    if request.commit:  # of a transaction that was never begun
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    return False  # an abort: of what is still on its way to a partition, which the new epoch will refuse


def _ended(
    found: Transaction, request: EndRequest, spare_id: ProducerId | None, now_ms: TimestampMs
) -> Transaction:
    writer, client = found.writer, found.client
    if request.version >= EPOCH_BUMPS:
        client = client.bumped(spare_id)
    # Of an id that is given up the markers still end all that is under way, with the epoch after its last.
    is_same = client.producer_id == writer.producer_id
    writer = client if is_same else Identity(writer.producer_id, writer.epoch + 1)
    found = msgspec.structs.replace(found, version=request.version)
    return _decided(found, request.commit, writer, client, now_ms)


def _decided(
    found: Transaction, commit: bool, writer: Identity, client: Identity, now_ms: TimestampMs
) -> Transaction:
    changes = {"writer": writer, "next": NOBODY if client == writer else client}
    if found.state is State.ONGOING:
        found = found.to(State.PREPARE_COMMIT if commit else State.PREPARE_ABORT, now_ms, **changes)
        return found if found.partitions else complete(found, now_ms)
    # An abort of nothing: no partition has to be told.
    return _completed(msgspec.structs.replace(found, **changes), State.COMPLETE_ABORT, now_ms)


def fence(found: Transaction, now_ms: TimestampMs, *, may_go_on: bool = False) -> Transaction:
    """Abort what is under way so that all that its producer, wherever it may be, writes to it is refused.

    In version 2 the epoch goes up by two: one more than by an end that the producer knows of, lest a late end
    of it be taken for a retry, and the producer for the one that may go on. Where nobody takes its place it
    may: its own abort, which comes too late, then brings it the new epoch.
    """
    step = 2 if found.version >= EPOCH_BUMPS and not may_go_on else 1
    client = Identity(found.client.producer_id, min(found.client.epoch + step, EPOCH_MAX))
    writer = found.writer
    is_same = client.producer_id == writer.producer_id
    writer = client if is_same else Identity(writer.producer_id, min(writer.epoch + step, EPOCH_MAX))
    return _decided(found, False, writer, client, now_ms)


def complete(found: Transaction, now_ms: TimestampMs) -> Transaction:
    """Every partition has its marker, or is gone."""
    is_commit = found.state is State.PREPARE_COMMIT
    return _completed(found, State.COMPLETE_COMMIT if is_commit else State.COMPLETE_ABORT, now_ms)


def _completed(found: Transaction, state: State, now_ms: TimestampMs) -> Transaction:
    """The client's identity is now the only one."""
    writer_id, client = found.writer.producer_id, found.client
    return found.to(
        state,
        now_ms,
        writer=client,
        next=NOBODY,
        partitions=(),
        previous_id=found.previous_id if client.producer_id == writer_id else writer_id,
    )
