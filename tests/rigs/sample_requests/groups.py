"""Groups, their members and their offsets."""

from tests.rigs.sample_requests.sample import GROUP, NEW_TOPIC, TOPIC, Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import offset_commit, offset_delete, offset_fetch
from tidelog.wire.messages import streams_group_heartbeat as streams
from tidelog.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.wire.messages.describe_groups import DescribeGroupsRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.heartbeat import HeartbeatRequest
from tidelog.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.wire.messages.list_groups import ListGroupsRequest
from tidelog.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from tidelog.wire.messages.sync_group import SyncGroupRequest

STREAMS = "words"
BY_NAME = 9
"""The last version of OffsetCommit and OffsetFetch that names topics."""

FIND_GROUP = Sample(
    ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(coordinator_keys=[GROUP, STREAMS]), what="group"
)
COMMIT = Sample(
    ApiKey.OFFSET_COMMIT,
    offset_commit.OffsetCommitRequest(
        group_id=GROUP,
        topics=[
            offset_commit.OffsetCommitRequestTopic(
                name=TOPIC, partitions=[offset_commit.OffsetCommitRequestPartition(committed_offset=0)]
            )
        ],
    ),
    BY_NAME,
    before=(FIND_GROUP,),
)
JOIN_CONSUMER = Sample(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=[TOPIC],
        topic_partitions=[],
    ),
    before=(FIND_GROUP,),
)
JOIN_STREAMS = Sample(
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    streams.StreamsGroupHeartbeatRequest(
        group_id=STREAMS,
        member_id="m",
        rebalance_timeout_ms=60_000,
        process_id="p",
        topology=streams.Topology(
            subtopologies=[
                streams.Subtopology(
                    subtopology_id="0",
                    source_topics=[TOPIC],
                    state_changelog_topics=[streams.TopicInfo(name=NEW_TOPIC)],
                )
            ]
        ),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
    ),
    before=(FIND_GROUP,),
)
NAMED_OFFSETS = [
    offset_fetch.OffsetFetchRequestGroup(
        group_id=GROUP, topics=[offset_fetch.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
    )
]
DELETE_OFFSETS = offset_delete.OffsetDeleteRequest(
    group_id=GROUP,
    topics=[
        offset_delete.OffsetDeleteRequestTopic(
            name=TOPIC, partitions=[offset_delete.OffsetDeleteRequestPartition()]
        )
    ],
)

SAMPLES = [
    FIND_GROUP,
    Sample(
        ApiKey.FIND_COORDINATOR,
        FindCoordinatorRequest(key_type=1, coordinator_keys=["payments"]),
        what="transactional id",
    ),
    Sample(
        ApiKey.JOIN_GROUP,
        JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        ),
    ),
    Sample(
        ApiKey.SYNC_GROUP, SyncGroupRequest(group_id=GROUP, protocol_type="consumer", protocol_name="range")
    ),
    Sample(ApiKey.HEARTBEAT, HeartbeatRequest(group_id=GROUP)),
    Sample(ApiKey.LEAVE_GROUP, LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="m")])),
    JOIN_CONSUMER,
    JOIN_STREAMS,
    COMMIT,
    Sample(
        ApiKey.OFFSET_FETCH,
        offset_fetch.OffsetFetchRequest(groups=NAMED_OFFSETS),
        BY_NAME,
        what="by name",
        before=(FIND_GROUP, COMMIT),
    ),
    Sample(ApiKey.OFFSET_DELETE, DELETE_OFFSETS, before=(FIND_GROUP, COMMIT)),
    Sample(ApiKey.DELETE_GROUPS, DeleteGroupsRequest(groups_names=["none"])),
    Sample(ApiKey.DESCRIBE_GROUPS, DescribeGroupsRequest(groups=[GROUP])),
    Sample(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ConsumerGroupDescribeRequest(group_ids=[GROUP]),
        before=(FIND_GROUP, JOIN_CONSUMER),
    ),
    Sample(
        ApiKey.STREAMS_GROUP_DESCRIBE,
        StreamsGroupDescribeRequest(group_ids=[STREAMS]),
        before=(FIND_GROUP, JOIN_STREAMS),
    ),
    Sample(ApiKey.LIST_GROUPS, ListGroupsRequest(), hides=True, before=(FIND_GROUP, COMMIT)),
]
