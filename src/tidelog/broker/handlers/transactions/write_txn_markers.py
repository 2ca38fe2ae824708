"""WriteTxnMarkers: a coordinator has decided; the leaders write it behind the data. Answered once committed.

The same marker may come again and again: coordinators repeat it until they get an answer.
"""

import asyncio
from collections.abc import Callable

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.coordinators.group_log import append_marker
from tidelog.broker.requests.context import Context, Services
from tidelog.metadata.topics.names import CONSUMER_OFFSETS
from tidelog.replication.partition import Partition, Produced
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, ResourceType
from tidelog.wire.batch import read_header
from tidelog.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidelog.wire.record import Control, ControlType, write_control_batch

WAIT_SECONDS = 10.0


async def handle(context: Context, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    # Operators end hanging transactions with ALTER, as Kafka's tools do; coordinators are brokers.
    if not context.may(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME) and not (
        context.allows_on_cluster(Operation.CLUSTER_ACTION)
    ):
        return _response(request, _refused)
    waiting: list[asyncio.Future[None]] = []
    response = _response(
        request, lambda marker, topic, index: _write(context.services, marker, topic, index, waiting)
    )
    if waiting:
        await asyncio.wait(waiting, timeout=WAIT_SECONDS)
    for one in waiting:
        one.cancel()
    return response


def _response(
    request: WriteTxnMarkersRequest,
    write: Callable[[WritableTxnMarker, str, int], WritableTxnMarkerPartitionResult],
) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    WritableTxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[write(marker, topic.name, index) for index in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


def _refused(_marker: WritableTxnMarker, _topic: str, index: int) -> WritableTxnMarkerPartitionResult:
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return WritableTxnMarkerPartitionResult(partition_index=index, error_code=code)


def _write(
    services: Services,
    marker: WritableTxnMarker,
    topic: str,
    index: int,
    waiting: "list[asyncio.Future[None]]",
) -> WritableTxnMarkerPartitionResult:
    """Its error is filled in when `waiting` is over."""
    result = WritableTxnMarkerPartitionResult(partition_index=index, error_code=ErrorCode.REQUEST_TIMED_OUT)
    try:
        partition = services.partitions.find(topic, index)
        produced = _append(services, partition, marker)
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def done(error: KafkaError | None) -> None:
            result.error_code = ErrorCode.NONE if error is None else error.code
            if not committed.done():
                committed.set_result(None)

        if partition.when_committed(produced.committed_at, done):
            result.error_code = ErrorCode.NONE
        else:
            committed.add_done_callback(lambda future: partition.forget(done) if future.cancelled() else None)
            waiting.append(committed)
    except KafkaError as error:
        result.error_code = error.code
    return result


def _append(services: Services, partition: Partition, marker: WritableTxnMarker) -> Produced:
    kind = ControlType.COMMIT if marker.transaction_result else ControlType.ABORT
    now_ms = services.clock.now_ms()
    batch = write_control_batch(
        kind,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
        timestamp=now_ms,
    )
    control = Control(kind, marker.coordinator_epoch)
    partition.log.producers.check_marker(read_header(batch), control, marker.transaction_version)
    if partition.topic != CONSUMER_OFFSETS:
        return partition.append_own(batch, now_ms=now_ms)
    for serving in services.groups:
        if serving.partition is partition:
            return append_marker(serving, batch)
    # Its groups are still being loaded: a marker that comes between would be missed.
    raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
