"""The append of one batch to one partition for a producer, and its answer."""

from collections.abc import Sequence

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset, TimestampMs
from tidelog.broker.requests.delayed_produce import UncommittedAppend
from tidelog.replication.partition import Partition
from tidelog.storage.admission import RecordsRefused
from tidelog.storage.producers.verification import VerificationGuard
from tidelog.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
)

ACKS_ALL = -1


def append(
    partition: Partition,
    request: ProduceRequest,
    records: memoryview,
    answer: PartitionProduceResponse,
    *,
    now_ms: TimestampMs,
    uncommitted: list[UncommittedAppend],
    guard: VerificationGuard | None,
    schemas_checked: bool = False,
) -> None:
    """Fills in the answer. An append that acks=all must wait for is added to `uncommitted`."""
    all_replicas = request.acks == ACKS_ALL
    produced = partition.produce(
        records,
        all_replicas=all_replicas,
        now_ms=now_ms,
        in_transaction=request.transactional_id is not None,
        guard=guard,
        schemas_checked=schemas_checked,
    )
    answer.base_offset = produced.base_offset
    answer.log_append_time = produced.append_time_ms
    answer.log_start_offset = partition.log.start
    if all_replicas and produced.committed_at > partition.high_watermark:
        uncommitted.append(UncommittedAppend(partition, produced.committed_at, answer))


def refused(index: int, error: KafkaError, log_start: Offset) -> PartitionProduceResponse:
    answer = PartitionProduceResponse(index=index)
    refuse(answer, error, log_start)
    return answer


def refuse(answer: PartitionProduceResponse, error: KafkaError, log_start: Offset) -> None:
    answer.error_code = error.code
    answer.error_message = error.message
    answer.base_offset = -1
    answer.log_start_offset = log_start
    if isinstance(error, RecordsRefused):
        reasons: Sequence[str | None] = error.reasons or [None] * len(error.numbers)
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=why)
            for number, why in zip(error.numbers, reasons, strict=True)
        ]
