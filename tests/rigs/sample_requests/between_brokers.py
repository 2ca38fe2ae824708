"""Requests that only brokers send."""

from tests.rigs.authorized_cluster import BROKERS
from tests.rigs.sample_requests.sample import Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tidelog.wire.messages.alter_partition import AlterPartitionRequest
from tidelog.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from tidelog.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from tidelog.wire.messages.broker_registration import BrokerRegistrationRequest
from tidelog.wire.messages.forward import ForwardRequest
from tidelog.wire.messages.raft import RaftRequest

SAMPLES = [
    Sample(ApiKey.BROKER_REGISTRATION, BrokerRegistrationRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.BROKER_HEARTBEAT, BrokerHeartbeatRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.ALTER_PARTITION, AlterPartitionRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.ALLOCATE_PRODUCER_IDS, AllocateProducerIdsRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.ASSIGN_REPLICAS_TO_DIRS, AssignReplicasToDirsRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.FORWARD, ForwardRequest(broker_id=9), listener=BROKERS),
    Sample(ApiKey.RAFT, RaftRequest(), listener=BROKERS),
]
