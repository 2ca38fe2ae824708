"""A task's part of a write: rows to records, in an open transaction where the write is to be exactly once.

The transaction is left open for the driver, which alone knows whether all tasks succeeded. A task that fails
aborts its own; one that is killed leaves it to the driver's next commit, or to the timeout.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import pyarrow as pa

from tidelog.base.errors import ErrorCode, KafkaError, TidelogError
from tidelog.blocking.cluster import Cluster
from tidelog.blocking.producer import Producer
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.blocking.transactions import ONGOING, TransactionCalls
from tidelog.spark.errors import OptionError
from tidelog.spark.sink.intent_log import IntentLog
from tidelog.spark.sink.intents import Participant, is_written_already
from tidelog.spark.sink.nameless import is_nameless
from tidelog.spark.sink.options import SinkOptions
from tidelog.spark.sink.outbox import Outbox
from tidelog.spark.sink.schema import Shape
from tidelog.spark.sink.transactional_ids import SLOTS_MAX, query_prefix, slots_of_this_process
from tidelog.spark.sink.two_phase_commit import Batch

ABORT_SECONDS = 5.0

log = logging.getLogger("tidelog.spark.sink")


class NoFreeId(TidelogError):
    """More transactions are open on this machine than there are ids."""


@dataclass(frozen=True)
class TaskWrite:
    """What a task tells the driver."""

    rows: int
    batch: Batch | None = None
    participant: Participant | None = None
    """None: no rows, no transaction."""
    was_decided: bool = False
    """Nothing was written, because the batch had been decided before."""


def write_rows(options: SinkOptions, shape: Shape, rows: Iterable[pa.RecordBatch]) -> TaskWrite:
    """At least once: a task that Spark repeats writes its rows again."""
    waiting = _not_empty(rows)
    first = next(waiting, None)
    if first is None:
        return TaskWrite(0)
    with Cluster(options.cluster) as cluster:
        producer = Producer(cluster, TransactionCalls(cluster).producer_id(), options.delivery)
        return TaskWrite(_write_all(cluster, producer, options, shape, chain([first], waiting)))


def write_in_transaction(
    options: SinkOptions, shape: Shape, rows: Iterable[pa.RecordBatch], batch: Batch, run: str | None
) -> TaskWrite:
    """Rows in a transaction that is left open. `run` tells one start of a query from the next."""
    waiting = _not_empty(rows)
    first = next(waiting, None)
    if first is None:
        return TaskWrite(0, batch)
    with Cluster(options.cluster) as cluster:
        if _is_decided(cluster, options, batch, run):
            for _ in waiting:
                pass  # Spark wants its rows taken
            return TaskWrite(0, batch, was_decided=True)
        id, identity = _begin(TransactionCalls(cluster), options, batch)
        producer = Producer(cluster, identity, options.delivery, transactional_id=id)
        try:
            count = _write_all(cluster, producer, options, shape, chain([first], waiting))
        except BaseException:
            _abort(options, id, identity)
            raise
        return TaskWrite(count, batch, Participant(id, identity, identity))


def _not_empty(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (some for some in rows if some.num_rows)


def _write_all(
    cluster: Cluster,
    producer: Producer,
    options: SinkOptions,
    shape: Shape,
    rows: Iterable[pa.RecordBatch],
) -> int:
    outbox = Outbox(cluster, producer, shape, options.packing)
    for some in rows:
        outbox.add(some)
    outbox.finish()
    return outbox.rows


_looked_up: set[tuple[str, str]] = set()
"""(query, run) for which this process has looked for an intent. Only the first batch of a run can have been
decided before it, so later ones need no look."""


def _is_decided(cluster: Cluster, options: SinkOptions, batch: Batch, run: str | None) -> bool:
    if is_nameless(batch.query) or (run is not None and (batch.query, run) in _looked_up):
        return False
    intents = IntentLog(cluster, options.two_phase_commit.prefix, options.two_phase_commit.topic)
    if is_written_already(intents.find(batch.query), batch.number):
        return True
    if run is not None:
        _looked_up.add((batch.query, run))
    return False


_used: dict[str, Batch] = {}
"""The batch for which this process used each of its ids last; if that is not over, no lookup is needed."""


def _begin(calls: TransactionCalls, options: SinkOptions, batch: Batch) -> tuple[str, ProducerIdentity]:
    """Returns an id of this process without an open transaction, which might still be committed."""
    timeout_ms = options.two_phase_commit.timeout_ms
    for name in slots_of_this_process().names():
        id = query_prefix(options.two_phase_commit.prefix, batch.query) + name
        if not is_nameless(batch.query) and _used.get(id) == batch:
            continue
        found = calls.describe(id)
        if found is not None and found.state == ONGOING:
            continue
        try:
            identity = calls.init(id, timeout_ms)
        except KafkaError as error:
            if error.code is not ErrorCode.INVALID_TRANSACTION_TIMEOUT:
                raise
            raise OptionError(
                f"kafka.transaction.timeout.ms is {timeout_ms}, and the brokers allow less; "
                "see their transaction.max.timeout.ms"
            ) from None
        _used[id] = batch
        return id, identity
    raise NoFreeId(f"all {SLOTS_MAX} transactional ids of this machine are in use")


def _abort(options: SinkOptions, id: str, identity: ProducerIdentity) -> None:
    """Best effort: the cluster may be the reason for the failure, and the timeout aborts as well."""
    hasty = replace(options.cluster, limits=replace(options.cluster.limits, total_s=ABORT_SECONDS))
    try:
        with Cluster(hasty) as cluster:
            TransactionCalls(cluster).end(id, identity, commit=False)
    except TidelogError as error:
        log.warning("the transaction of %s stays open until its timeout: %s", id, error)
