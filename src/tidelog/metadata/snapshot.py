"""A snapshot: the records that build an image in one go, in place of all that led to it.

The file holds record batches with offsets from 0 on: first SnapshotBegan, last SnapshotEnded, so that a
file which was cut short between two batches is recognised too.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from tidelog.base.errors import StorageError
from tidelog.base.ids import Offset, TimestampMs, uuid_text
from tidelog.base.invariant import InvariantError
from tidelog.base.ports import File
from tidelog.metadata.entities import BrokerImage, TopicImage
from tidelog.metadata.image import ClusterImage, advance
from tidelog.metadata.record_batches import decode_batch, encode_batch
from tidelog.metadata.records import (
    BrokerChanged,
    BrokerRegistered,
    ClusterCreated,
    ConfigChanged,
    FeatureChanged,
    PartitionCreated,
    ProducerIdsAllocated,
    Record,
    ResourceKind,
    SnapshotBegan,
    SnapshotEnded,
    SnapshotRecord,
    TopicCreated,
)
from tidelog.storage.segment_scan import Bad, SegmentScan

NO_BROKER = -1
_RECORDS_PER_BATCH = 1000


def image_records(image: ClusterImage) -> Iterator[Record]:
    """The shortest run of records that leads from an empty image to this one."""
    if image.cluster_id:
        yield ClusterCreated(image.cluster_id)
    for feature, level in image.features.items():
        yield FeatureChanged(feature, level)
    for broker in image.brokers.values():
        yield from _broker_records(broker)
    for name, configs in image.broker_configs.items():
        yield from _config_records(ResourceKind.BROKER, name, configs.items())
    for topic in image.topics.values():
        yield from _topic_records(topic)
    if image.next_producer_id:
        yield ProducerIdsAllocated(NO_BROKER, image.next_producer_id)


def encode_snapshot(image: ClusterImage, offset: Offset, now_ms: TimestampMs) -> bytes:
    """`offset` is that of the first record which is not in the image."""
    body = iter(image_records(image))
    batches = [encode_batch([SnapshotBegan(offset, now_ms)], base_offset=0, now_ms=now_ms)]
    count = 0
    while part := list(islice(body, _RECORDS_PER_BATCH)):
        batches.append(encode_batch(part, base_offset=1 + count, now_ms=now_ms))
        count += len(part)
    batches.append(encode_batch([SnapshotEnded(count)], base_offset=1 + count, now_ms=now_ms))
    return b"".join(batches)


def read_snapshot(file: File, offset: Offset) -> ClusterImage:
    """Raises StorageError with file and position unless every byte of it is as it was written."""
    records: list[SnapshotRecord] = []
    position = 0
    for found in SegmentScan(file, 0, file.size()).run(0, 0):
        position = found.position
        if isinstance(found, Bad):
            raise StorageError(f"{file.path} at {position}: {found.why}")
        try:
            records += decode_batch(file.read_at(position, found.header.size))
        except StorageError as error:
            raise type(error)(f"{file.path} at {position}: {error}") from error
    if (
        len(records) < 2
        or not isinstance(records[-1], SnapshotEnded)
        or records[-1].records != len(records) - 2
    ):
        raise StorageError(f"{file.path} at {position}: the snapshot was cut short")
    began, *body = records[:-1]
    if not isinstance(began, SnapshotBegan) or began.offset != offset:
        raise StorageError(
            f"{file.path} at 0: the file does not begin as the snapshot at offset {offset} does"
        )
    try:
        return advance(ClusterImage(), body).after  # type: ignore[arg-type]  # others are refused there
    except (InvariantError, ValueError) as error:
        raise StorageError(f"{file.path}: its records do not fit together: {error}") from error


def _broker_records(broker: BrokerImage) -> Iterator[Record]:
    yield BrokerRegistered(
        broker.id,
        broker.epoch,
        uuid_text(broker.incarnation),
        tuple(broker.endpoints.values()),
        broker.rack,
        tuple(map(uuid_text, broker.directories + broker.failed_directories)),
        broker.fenced,
        broker.features,
    )
    if broker.shutting_down:
        yield BrokerChanged(broker.id, broker.epoch, shutting_down=True)
    if broker.failed_directories:
        online = tuple(map(uuid_text, broker.directories))
        yield BrokerChanged(broker.id, broker.epoch, directories=online)


def _topic_records(topic: TopicImage) -> Iterator[Record]:
    id_text = uuid_text(topic.id)
    yield TopicCreated(topic.name, id_text)
    yield from _config_records(ResourceKind.TOPIC, topic.name, topic.configs.items())
    for partition in topic.partitions:
        yield PartitionCreated(
            id_text,
            partition.index,
            partition.replicas,
            partition.isr,
            partition.leader,
            partition.leader_epoch,
            partition.partition_epoch,
            tuple(map(uuid_text, partition.directories)),
            partition.adding,
            partition.removing,
        )


def _config_records(kind: ResourceKind, name: str, configs: Iterable[tuple[str, str]]) -> Iterator[Record]:
    for key, value in configs:
        yield ConfigChanged(kind, name, key, value)
