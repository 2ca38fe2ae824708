"""The values of streams groups' records, field by field as Kafka writes them."""

from __future__ import annotations

import msgspec

from tidelog.wire.message import Message
from tidelog.wire.messages.streams_group_heartbeat import CopartitionGroup, KeyValue, Subtopology, TopicInfo

__all__ = ["CopartitionGroup", "KeyValue", "Subtopology", "TopicInfo"]  # the codec finds them by name


class LastAssignmentConfig(Message):
    key: str = ""
    value: str = ""


class StreamsGroupMetadataValue(Message):
    epoch: int = 0
    metadata_hash: int = 0
    validated_topology_epoch: int = -1
    last_assignment_configs: list[LastAssignmentConfig] = msgspec.field(default_factory=list)


class Endpoint(Message):
    host: str = ""
    port: int = 0


class StreamsGroupMemberMetadataValue(Message):
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] = msgspec.field(default_factory=list)


class StreamsGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int = 0
    assignment_timestamp: int = 0


class TaskIds(Message):
    subtopology_id: str = ""
    partitions: list[int] = msgspec.field(default_factory=list)
    assignment_epochs: list[int] = msgspec.field(default_factory=list)


class StreamsGroupTargetAssignmentMemberValue(Message):
    active_tasks: list[TaskIds] = msgspec.field(default_factory=list)
    standby_tasks: list[TaskIds] = msgspec.field(default_factory=list)
    warmup_tasks: list[TaskIds] = msgspec.field(default_factory=list)


class StreamsGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: int = 0
    active_tasks: list[TaskIds] = msgspec.field(default_factory=list)
    standby_tasks: list[TaskIds] = msgspec.field(default_factory=list)
    warmup_tasks: list[TaskIds] = msgspec.field(default_factory=list)
    active_tasks_pending_revocation: list[TaskIds] = msgspec.field(default_factory=list)
    standby_tasks_pending_revocation: list[TaskIds] = msgspec.field(default_factory=list)
    warmup_tasks_pending_revocation: list[TaskIds] = msgspec.field(default_factory=list)


class StreamsGroupTopologyValue(Message):
    epoch: int = 0
    subtopologies: list[Subtopology] = msgspec.field(default_factory=list)


_TASKS = """[]TaskIds
  subtopology_id str
  partitions []i32"""
_TASKS_WITH_EPOCHS = f"""{_TASKS}
  assignment_epochs []i32 tag=0"""
_TOPICS = """[]TopicInfo
   name str
   partitions i32
   replication_factor i16
   topic_configs []KeyValue
    key str
    value str"""

SCHEMA = {
    "StreamsGroupMetadataValue": """\
StreamsGroupMetadataValue 17 req 0 flex=0
 epoch i32
 metadata_hash i64
 validated_topology_epoch i32 tag=0 =-1
 last_assignment_configs []LastAssignmentConfig tag=1
  key str
  value str
""",
    "StreamsGroupMemberMetadataValue": """\
StreamsGroupMemberMetadataValue 19 req 0 flex=0
 instance_id str?
 rack_id str?
 client_id str
 client_host str
 rebalance_timeout_ms i32
 topology_epoch i32
 process_id str
 user_endpoint Endpoint?
  host str
  port u16
 client_tags []KeyValue
  key str
  value str
""",
    "StreamsGroupTargetAssignmentMetadataValue": """\
StreamsGroupTargetAssignmentMetadataValue 20 req 0 flex=0
 assignment_epoch i32
 assignment_timestamp i64 tag=0 =0
""",
    "StreamsGroupTargetAssignmentMemberValue": f"""\
StreamsGroupTargetAssignmentMemberValue 21 req 0 flex=0
 active_tasks {_TASKS}
 standby_tasks {_TASKS}
 warmup_tasks {_TASKS}
""",
    "StreamsGroupCurrentMemberAssignmentValue": f"""\
StreamsGroupCurrentMemberAssignmentValue 22 req 0 flex=0
 member_epoch i32
 previous_member_epoch i32
 state i8
 active_tasks {_TASKS_WITH_EPOCHS}
 standby_tasks {_TASKS_WITH_EPOCHS}
 warmup_tasks {_TASKS_WITH_EPOCHS}
 active_tasks_pending_revocation {_TASKS_WITH_EPOCHS}
 standby_tasks_pending_revocation {_TASKS_WITH_EPOCHS}
 warmup_tasks_pending_revocation {_TASKS_WITH_EPOCHS}
""",
    "StreamsGroupTopologyValue": f"""\
StreamsGroupTopologyValue 23 req 0 flex=0
 epoch i32
 subtopologies []Subtopology
  subtopology_id str
  source_topics []str
  source_topic_regex []str
  state_changelog_topics {_TOPICS}
  repartition_sink_topics []str
  repartition_source_topics {_TOPICS}
  copartition_groups []CopartitionGroup
   source_topics []i16
   source_topic_regex []i16
   repartition_source_topics []i16
""",
}
