"""Metadata records: the facts that the metadata log carries and every broker applies to its image.

They are JSON, so that `tidelog log dump` shows them as they are; ids are in Kafka's text form, as the
other tools print them. A record once written is read for ever: add fields with a default, never rename.
"""

from enum import Enum
from typing import TypeAlias

import msgspec

from tidelog.base.errors import StorageError
from tidelog.base.ids import Epoch, NodeId, ProducerId
from tidelog.metadata.image.record_base import MetadataRecord
from tidelog.metadata.image.security_records import SecurityRecord

IdText: TypeAlias = str
"""Sixteen bytes as 22 characters of url-safe base64: see `ids.uuid_text`."""


class ResourceKind(Enum):
    """What a configuration belongs to. A broker named "" stands for the default of all brokers."""

    TOPIC = "topic"
    BROKER = "broker"
    GROUP = "group"
    CLIENT_METRICS = "client-metrics"


class NewerFormatError(StorageError):
    """Data that this version cannot read, though nothing is wrong with it."""


class ClusterCreated(MetadataRecord, frozen=True, tag="cluster-created"):
    cluster_id: str


class Endpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where clients reach a broker on one of its listeners."""

    listener: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"


class FeatureRange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The levels of a feature that a broker's software supports."""

    name: str
    min_level: int
    max_level: int


class BrokerRegistered(MetadataRecord, frozen=True, omit_defaults=True, tag="broker-registered"):
    """A broker process came up. It replaces what an earlier process with this id said of itself."""

    broker_id: NodeId
    epoch: Epoch
    incarnation: IdText
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    directories: tuple[IdText, ...] = ()
    fenced: bool = False
    features: tuple[FeatureRange, ...] = ()
    machine: str | None = None


class BrokerChanged(MetadataRecord, frozen=True, omit_defaults=True, tag="broker-changed"):
    """A registered broker was fenced, unfenced, began to shut down or lost a directory. None: as it was."""

    broker_id: NodeId
    epoch: Epoch
    fenced: bool | None = None
    shutting_down: bool | None = None
    directories: tuple[IdText, ...] | None = None
    """Those that are still online."""


class BrokerUnregistered(MetadataRecord, frozen=True, tag="broker-unregistered"):
    broker_id: NodeId
    epoch: Epoch


class TopicCreated(MetadataRecord, frozen=True, tag="topic-created"):
    name: str
    topic_id: IdText


class TopicDeleted(MetadataRecord, frozen=True, tag="topic-deleted"):
    """The topic goes with its partitions and its configuration; its id is never used again."""

    topic_id: IdText


class PartitionCreated(MetadataRecord, frozen=True, omit_defaults=True, tag="partition-created"):
    """Partitions of a topic are numbered from 0 without a gap and are created in that order."""

    topic_id: IdText
    partition: int
    replicas: tuple[NodeId, ...]
    isr: tuple[NodeId, ...]
    leader: NodeId
    leader_epoch: Epoch = 0
    partition_epoch: Epoch = 0
    directories: tuple[IdText, ...] = ()
    """The directory id of each replica, in the order of `replicas`; zeros where it is unknown yet."""
    adding: tuple[NodeId, ...] = ()
    removing: tuple[NodeId, ...] = ()
    elr: tuple[NodeId, ...] = ()
    last_known_elr: tuple[NodeId, ...] = ()


class PartitionChanged(MetadataRecord, frozen=True, omit_defaults=True, tag="partition-changed"):
    """A new leader, in-sync set or replica list. None leaves a field as it was."""

    topic_id: IdText
    partition: int
    partition_epoch: Epoch
    leader: NodeId | None = None
    leader_epoch: Epoch | None = None
    isr: tuple[NodeId, ...] | None = None
    replicas: tuple[NodeId, ...] | None = None
    adding: tuple[NodeId, ...] | None = None
    removing: tuple[NodeId, ...] | None = None
    directories: tuple[IdText, ...] | None = None
    elr: tuple[NodeId, ...] | None = None
    """Eligible leader replicas (KIP-966)."""
    last_known_elr: tuple[NodeId, ...] | None = None


class ConfigChanged(MetadataRecord, frozen=True, tag="config-changed"):
    """One setting of one resource got a value, or with None lost it."""

    resource_kind: ResourceKind
    resource_name: str
    key: str
    value: str | None


class ProducerIdsAllocated(MetadataRecord, frozen=True, tag="producer-ids-allocated"):
    """Every producer id below `next_producer_id` is spoken for."""

    broker_id: NodeId
    next_producer_id: ProducerId


class FeatureChanged(MetadataRecord, frozen=True, tag="feature-changed"):
    """The cluster uses a feature at this level from now on; 0 turns it off."""

    name: str
    level: int


Record: TypeAlias = (
    ClusterCreated
    | BrokerRegistered
    | BrokerChanged
    | BrokerUnregistered
    | TopicCreated
    | TopicDeleted
    | PartitionCreated
    | PartitionChanged
    | ConfigChanged
    | ProducerIdsAllocated
    | FeatureChanged
    | SecurityRecord
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_tag_decoder = msgspec.json.Decoder(dict[str, object])

KNOWN_TAGS = frozenset(str(cls.__struct_config__.tag) for cls in MetadataRecord.__subclasses__())


def encode_record(record: Record) -> bytes:
    return _encoder.encode(record)


def decode_record(data: bytes) -> Record:
    """Raises StorageError; the caller adds the file and offset."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _explained(data, error) from error


def _explained(data: bytes, error: Exception) -> StorageError:
    try:
        tag = _tag_decoder.decode(data).get("type")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return StorageError(f"not a metadata record: {error}")
    newer = "a newer version of Tidelog wrote it; start that version, or a newer one, on this data"
    if isinstance(tag, str) and tag not in KNOWN_TAGS:
        return NewerFormatError(f"a metadata record of the unknown type {tag!r}: {newer}")
    if "unknown field" in str(error):
        return NewerFormatError(f"a metadata record of type {tag!r} with an unknown field ({error}): {newer}")
    return StorageError(f"a metadata record of type {tag!r} that breaks its schema: {error}")
