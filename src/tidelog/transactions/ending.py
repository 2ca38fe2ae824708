"""How a transaction is ended: by its producer, by a newer producer, or by its timeout.

Theory: telling the present from the past
=========================================

The network delays requests and clients repeat them. So at the coordinator an EndTxn may be the end of the
transaction that is open now, the same end once more, or an end of an earlier transaction that was lost in a
switch for a minute. All three have the same fields.

What can go wrong
-----------------
To take one of them for another does real harm.

    the first protocol (KIP-98), producer P with epoch 4 throughout

    P  commits transaction 1: EndTxn(P, 4, commit)      the request hangs in the network
    P  no answer; sends it again                        committed
    P  begins transaction 2, writes half of it
       the first copy arrives: EndTxn(P, 4, commit)     commits half of transaction 2

    and at a partition: a batch of transaction 1 that arrives after its abort marker opens a transaction
    that no coordinator knows of. It is never ended, and readers of committed records wait there for ever.

The rule (KIP-890, transaction version 2)
-----------------------------------------
1. Every end raises the producer's epoch by one. The answer carries the new epoch, the markers too, and the
   next transaction is written under it.
2. Given an EndTxn with epoch e, while the coordinator has the producer at epoch c:

       e = c       the producer knows the latest: this ends the transaction that is open now
                   (CONCURRENT_TRANSACTIONS while the one before still has markers to write)
       e = c - 1   the same end once more, where that transaction is ending (CONCURRENT_TRANSACTIONS until its
                   markers are written) or ended (the same answer; INVALID_TXN_STATE to the opposite wish).
                   Where another one is open, the request comes from the past: PRODUCER_FENCED
       else        from a producer that was replaced: PRODUCER_FENCED

3. An abort with nothing open raises the epoch, too: batches on their way to a partition are then outdated.
4. A newer producer raises the epoch by two. By one, the late EndTxn of the replaced producer would look
   like the retry of an end, and its answer would let the replaced producer go on. A timeout raises it by
   one: no other producer takes its place, so its own abort, which comes late, may bring it the new epoch.
   Its commit is refused.
5. The last epoch, 32767, is never given to a producer; it is kept for fencing. An end that would reach it
   continues under a new producer id with epoch 0. Markers still go out under the old id, with the epoch
   after its last.
6. The decision is one record, PrepareCommit or PrepareAbort, and what follows only repeats it: markers
   until each partition has one, then the record that says so. A coordinator that dies in between is
   followed by one that reads the record.

Why this is enough
------------------
Each epoch of a producer id has at most one transaction, because every way out of "open" raises the epoch
(1, 3, 4). So an epoch names a transaction, and a request that carries its epoch says which one it means:
the table in 2 is complete. A partition can do the same without the coordinator: the marker of a transaction
with epoch 4 carries 5, so the partition has seen 5, and a late batch with 4 is refused there. That a batch
arrives *before* its coordinator knows of it is excluded elsewhere, by verification of the first batch in
each partition.

    epoch   4: begin . write . EndTxn(4) -> 5       5: begin . write . EndTxn(5) -> 6
    late                          EndTxn(4), nothing open: same answer, 5
                                                              EndTxn(4), 5 is open: PRODUCER_FENCED
                                                              batch(4) at a partition: INVALID_PRODUCER_EPOCH

Clients of the first protocol keep their epoch and with it the first timeline above, here as in Apache
Kafka: `test_the_first_protocol_cannot_tell_a_delayed_end` in `tests/unit/transactions/test_ending.py` shows
it, beside the same story with the second. `tests/property/test_transactions.py` lets both live in a world
that delays, repeats and crashes. It also believes a delayed end (a transaction is torn) and fences with an
epoch too few (a replaced producer goes on), to show that its checks notice.

This file decides, and does nothing else: it takes the transaction as it is, the request and the time, and
returns the record to append with the answer to give once that record is committed.
"""

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.coordination.decision import ShardDecision
from tidelog.transactions.messages import EndAnswer, EndRequest
from tidelog.transactions.record_format import record_of
from tidelog.transactions.states import State
from tidelog.transactions.transaction import (
    EPOCH_BUMPS,
    EPOCH_MAX,
    EPOCHS_END,
    NO_IDENTITY,
    Identity,
    Transaction,
)


def end(
    found: Transaction | None, request: EndRequest, spare_id: ProducerId | None, now_ms: TimestampMs
) -> ShardDecision[EndAnswer]:
    try:
        if not request.transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if found is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        is_retry = _check_producer(found, request)
        if _is_done_already(found, request, is_retry):
            return ShardDecision.of(EndAnswer(ErrorCode.NONE, found.client), EndAnswer)
        ended = _ended(found, request, spare_id, now_ms)
    except KafkaError as refusal:
        return ShardDecision.of(EndAnswer(refusal.code), EndAnswer)
    return ShardDecision.of(EndAnswer(ErrorCode.NONE, ended.client), EndAnswer, (record_of(ended),))


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
    """No producer was given an epoch of EPOCH_MAX: it comes from fencing, and leaves no retry to answer."""
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
    changes = {"writer": writer, "next": NO_IDENTITY if client == writer else client}
    if found.state is State.ONGOING:
        found = found.to(State.PREPARE_COMMIT if commit else State.PREPARE_ABORT, now_ms, **changes)
        return found if found.partitions else complete(found, now_ms)
    # An abort of nothing: no partition has to be told.
    return _completed(msgspec.structs.replace(found, **changes), State.COMPLETE_ABORT, now_ms)


def fence(found: Transaction, now_ms: TimestampMs, *, may_go_on: bool = False) -> Transaction:
    """Abort what is under way so that all that its producer, wherever it may be, writes to it is refused.

    In version 2 the epoch goes up by two: one more than by an end that the producer knows of, lest a late end
    of it be taken for a retry, and the producer for the one that may go on. Where no other takes its place it
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
        next=NO_IDENTITY,
        partitions=(),
        previous_id=found.previous_id if client.producer_id == writer_id else writer_id,
    )
