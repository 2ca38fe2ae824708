"""Share groups: records, acknowledgements and what they show of themselves."""

from tests.rigs.sample_requests.sample import GROUP, TOPIC, Sample
from tidelog.base.ids import Uuid
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import alter_share_group_offsets as alter_offsets
from tidelog.wire.messages import delete_share_group_offsets as delete_offsets
from tidelog.wire.messages import describe_share_group_offsets as describe_offsets
from tidelog.wire.messages import share_acknowledge, share_fetch
from tidelog.wire.messages.describe_share_partitions import (
    DescribeSharePartitionsRequest,
    DescribeSharePartitionsTopic,
)
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.share_group_describe import ShareGroupDescribeRequest
from tidelog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

MEMBER = "m"
SHARE_GROUP = "workers"


def share_fetch_of(topic_id: Uuid) -> share_fetch.ShareFetchRequest:
    asked = share_fetch.FetchPartition(partition_index=0)
    return share_fetch.ShareFetchRequest(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=0,
        max_bytes=1 << 20,
        max_records=10,
        topics=[share_fetch.FetchTopic(topic_id=topic_id, partitions=[asked])],
    )


def share_acknowledge_of(topic_id: Uuid) -> share_acknowledge.ShareAcknowledgeRequest:
    batch = share_acknowledge.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    about = share_acknowledge.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    return share_acknowledge.ShareAcknowledgeRequest(
        group_id=GROUP,
        member_id=MEMBER,
        share_session_epoch=1,
        topics=[share_acknowledge.AcknowledgeTopic(topic_id=topic_id, partitions=[about])],
    )


FETCH = Sample(ApiKey.SHARE_FETCH, share_fetch.ShareFetchRequest(), about=share_fetch_of)
FIND_GROUP = Sample(
    ApiKey.FIND_COORDINATOR, FindCoordinatorRequest(coordinator_keys=[SHARE_GROUP]), what="share group"
)
JOIN_SHARE = Sample(
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ShareGroupHeartbeatRequest(group_id=SHARE_GROUP, member_id=MEMBER, subscribed_topic_names=[TOPIC]),
    before=(FIND_GROUP,),
)
LEAVE_SHARE = JOIN_SHARE._replace(
    request=ShareGroupHeartbeatRequest(group_id=SHARE_GROUP, member_id=MEMBER, member_epoch=-1), before=()
)

SAMPLES = [
    Sample(
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        describe_offsets.DescribeShareGroupOffsetsRequest(
            groups=[
                describe_offsets.DescribeShareGroupOffsetsRequestGroup(
                    group_id=SHARE_GROUP,
                    topics=[
                        describe_offsets.DescribeShareGroupOffsetsRequestTopic(
                            topic_name=TOPIC, partitions=[0]
                        )
                    ],
                )
            ]
        ),
        before=(FIND_GROUP, JOIN_SHARE),
    ),
    Sample(
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        alter_offsets.AlterShareGroupOffsetsRequest(
            group_id=SHARE_GROUP,
            topics=[
                alter_offsets.AlterShareGroupOffsetsRequestTopic(
                    topic_name=TOPIC, partitions=[alter_offsets.AlterShareGroupOffsetsRequestPartition()]
                )
            ],
        ),
        before=(FIND_GROUP, JOIN_SHARE, LEAVE_SHARE),
    ),
    Sample(
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
        delete_offsets.DeleteShareGroupOffsetsRequest(
            group_id=SHARE_GROUP,
            topics=[delete_offsets.DeleteShareGroupOffsetsRequestTopic(topic_name=TOPIC)],
        ),
        before=(FIND_GROUP, JOIN_SHARE, LEAVE_SHARE),
    ),
    JOIN_SHARE,
    Sample(
        ApiKey.SHARE_GROUP_DESCRIBE,
        ShareGroupDescribeRequest(group_ids=[SHARE_GROUP]),
        before=(FIND_GROUP, JOIN_SHARE),
    ),
    FETCH,
    Sample(
        ApiKey.SHARE_ACKNOWLEDGE,
        share_acknowledge.ShareAcknowledgeRequest(),
        about=share_acknowledge_of,
        before=(FETCH,),
    ),
    Sample(
        ApiKey.DESCRIBE_SHARE_PARTITIONS,
        DescribeSharePartitionsRequest(group_id=GROUP, topics=[DescribeSharePartitionsTopic(name=TOPIC)]),
        before=(FETCH,),
        what="of a group and a topic",
    ),
    Sample(
        ApiKey.DESCRIBE_SHARE_PARTITIONS,
        DescribeSharePartitionsRequest(),
        before=(FETCH,),
        hides=True,
        what="of all",
    ),
]
