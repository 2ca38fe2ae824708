"""Requests of many APIs in a line each, and every error code that an answer holds."""

from tidelog.base.errors import ErrorCode
from tidelog.wire.message import Message
from tidelog.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from tidelog.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.wire.messages.incremental_alter_configs import (
    AlterableConfig as ConfigChange,
)
from tidelog.wire.messages.incremental_alter_configs import (
    AlterConfigsResource as ChangedResource,
)
from tidelog.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tidelog.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

E = ErrorCode
MAX32, MIN32, MAX64, MIN64 = 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)
UNKNOWN_ID = b"\xaa" * 16
TOPIC = "real"


def codes_of(answer: Message) -> list[ErrorCode]:
    """Every error code in an answer, in order, at whatever depth; NONE of an outer level is left out."""
    found: list[ErrorCode] = []

    def look(at: object, depth: int) -> None:
        if isinstance(at, list):
            for item in at:
                look(item, depth)
        elif isinstance(at, Message):
            code = getattr(at, "error_code", None)
            inner: list[object] = [getattr(at, name) for name in at.__struct_fields__]
            if code is not None and (code != 0 or not any(isinstance(each, list) and each for each in inner)):
                found.append(ErrorCode(code))
            for each in inner:
                look(each, depth + 1)

    look(answer, 0)
    return found


def new_topic(name: str = "fresh", **fields: object) -> CreateTopicsRequest:
    defaults = {"num_partitions": 1, "replication_factor": 1}
    return CreateTopicsRequest(topics=[CreatableTopic(name=name, **{**defaults, **fields})])  # type: ignore[arg-type]


def assigned(*brokers: list[int], first: int = 0) -> CreateTopicsRequest:
    parts = [
        CreatableReplicaAssignment(partition_index=first + n, broker_ids=ids) for n, ids in enumerate(brokers)
    ]
    return new_topic(num_partitions=-1, replication_factor=-1, assignments=parts)


def grow(name: str, count: int, assignments: list[list[int]] | None = None) -> CreatePartitionsRequest:
    made = None
    if assignments is not None:
        made = [CreatePartitionsAssignment(broker_ids=ids) for ids in assignments]
    return CreatePartitionsRequest(topics=[CreatePartitionsTopic(name=name, count=count, assignments=made)])


def delete_records(name: str, index: int, offset: int) -> DeleteRecordsRequest:
    asked = DeleteRecordsPartition(partition_index=index, offset=offset)
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=name, partitions=[asked])], timeout_ms=MAX32)


def list_offsets(name: str, *indexes: int, epoch: int = -1, timestamp: int = -1) -> ListOffsetsRequest:
    asked = [
        ListOffsetsPartition(partition_index=index, current_leader_epoch=epoch, timestamp=timestamp)
        for index in indexes
    ]
    return ListOffsetsRequest(topics=[ListOffsetsTopic(name=name, partitions=asked)])


def epoch_end(name: str, index: int, *, epoch: int = 0, current: int = -1) -> OffsetForLeaderEpochRequest:
    asked = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=name, partitions=[asked])])


def alter(kind: int, name: str, **configs: str | None) -> AlterConfigsRequest:
    edits = [AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=edits)
    return AlterConfigsRequest(resources=[resource])


def change(kind: int, name: str, *edits: tuple[str, int, str | None]) -> IncrementalAlterConfigsRequest:
    configs = [ConfigChange(name=key, config_operation=how, value=value) for key, how, value in edits]
    resource = ChangedResource(resource_type=kind, resource_name=name, configs=configs)
    return IncrementalAlterConfigsRequest(resources=[resource])


def describe(kind: int, name: str) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(resources=[DescribeConfigsResource(resource_type=kind, resource_name=name)])


def move(path: str, name: str, *indexes: int) -> AlterReplicaLogDirsRequest:
    topic = AlterReplicaLogDirTopic(name=name, partitions=list(indexes))
    return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=path, topics=[topic])])
