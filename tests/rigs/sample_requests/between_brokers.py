"""Requests that only brokers send."""

from tests.rigs.authorized_cluster import BROKERS
from tests.rigs.sample_requests.sample import GROUP, Sample
from tidelog.base.ids import uuid_text
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages import delete_share_group_state as delete
from tidelog.wire.messages import initialize_share_group_state as initialize
from tidelog.wire.messages import read_share_group_state as read
from tidelog.wire.messages import read_share_group_state_summary as summary
from tidelog.wire.messages import write_share_group_state as write
from tidelog.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tidelog.wire.messages.alter_partition import AlterPartitionRequest
from tidelog.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from tidelog.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from tidelog.wire.messages.broker_registration import BrokerRegistrationRequest
from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.wire.messages.forward import ForwardRequest
from tidelog.wire.messages.raft import RaftRequest
from tidelog.wire.messages.registry_call import RegistryCallRequest
from tidelog.wire.messages.share_start_offsets import ShareStartOffsetsRequest

_ID = bytes(range(16))

SAMPLES = [
    Sample(ApiKey.BROKER_REGISTRATION, BrokerRegistrationRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.BROKER_HEARTBEAT, BrokerHeartbeatRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.ALTER_PARTITION, AlterPartitionRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.ALLOCATE_PRODUCER_IDS, AllocateProducerIdsRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.ASSIGN_REPLICAS_TO_DIRS, AssignReplicasToDirsRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.FORWARD, ForwardRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.RAFT, RaftRequest(), listener=BROKERS),
    Sample(ApiKey.SHARE_START_OFFSETS, ShareStartOffsetsRequest(), listener=BROKERS),
    Sample(ApiKey.REGISTRY_CALL, RegistryCallRequest(), listener=BROKERS),
]

STATE_SAMPLES = [
    Sample(
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        initialize.InitializeShareGroupStateRequest(
            group_id=GROUP,
            topics=[initialize.InitializeStateData(topic_id=_ID, partitions=[initialize.PartitionData()])],
        ),
        listener=BROKERS,
    ),
    Sample(
        ApiKey.READ_SHARE_GROUP_STATE,
        read.ReadShareGroupStateRequest(
            group_id=GROUP, topics=[read.ReadStateData(topic_id=_ID, partitions=[read.PartitionData()])]
        ),
        listener=BROKERS,
    ),
    Sample(
        ApiKey.WRITE_SHARE_GROUP_STATE,
        write.WriteShareGroupStateRequest(
            group_id=GROUP, topics=[write.WriteStateData(topic_id=_ID, partitions=[write.PartitionData()])]
        ),
        listener=BROKERS,
    ),
    Sample(
        ApiKey.DELETE_SHARE_GROUP_STATE,
        delete.DeleteShareGroupStateRequest(
            group_id=GROUP, topics=[delete.DeleteStateData(topic_id=_ID, partitions=[delete.PartitionData()])]
        ),
        listener=BROKERS,
    ),
    Sample(
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        summary.ReadShareGroupStateSummaryRequest(
            group_id=GROUP,
            topics=[summary.ReadStateSummaryData(topic_id=_ID, partitions=[summary.PartitionData()])],
        ),
        listener=BROKERS,
    ),
    Sample(
        ApiKey.FIND_COORDINATOR,
        FindCoordinatorRequest(key_type=2, coordinator_keys=[f"{GROUP}:{uuid_text(_ID)}:0"]),
        listener=BROKERS,
        what="of the state of a share group",
    ),
]
"""Of the state of share groups: advertised to clients, so refused with an error where they are not taken."""
