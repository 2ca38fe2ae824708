"""The cluster, its brokers and its quorum."""

from tests.rigs.sample_requests.sample import TOPIC, Sample
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.add_raft_voter import AddRaftVoterRequest
from tidelog.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.wire.messages.can_stop_broker import CanStopBrokerRequest
from tidelog.wire.messages.describe_broker_state import DescribeBrokerStateRequest
from tidelog.wire.messages.describe_cluster import DescribeClusterRequest
from tidelog.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tidelog.wire.messages.describe_quorum import DescribeQuorumRequest
from tidelog.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from tidelog.wire.messages.unregister_broker import UnregisterBrokerRequest
from tidelog.wire.messages.update_features import UpdateFeaturesRequest

_MOVE = AlterReplicaLogDir(path="/data", topics=[AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])])

SAMPLES = [
    Sample(
        ApiKey.DESCRIBE_CLUSTER,
        DescribeClusterRequest(include_cluster_authorized_operations=True),
        hides=True,
    ),
    Sample(ApiKey.DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(topics=None)),
    Sample(ApiKey.ALTER_REPLICA_LOG_DIRS, AlterReplicaLogDirsRequest(dirs=[_MOVE])),
    Sample(ApiKey.DESCRIBE_QUORUM, DescribeQuorumRequest()),
    Sample(ApiKey.CAN_STOP_BROKER, CanStopBrokerRequest(broker_id=9)),
    Sample(ApiKey.DESCRIBE_BROKER_STATE, DescribeBrokerStateRequest()),
    Sample(ApiKey.ADD_RAFT_VOTER, AddRaftVoterRequest(voter_id=9)),
    Sample(ApiKey.REMOVE_RAFT_VOTER, RemoveRaftVoterRequest(voter_id=9)),
    Sample(ApiKey.UNREGISTER_BROKER, UnregisterBrokerRequest(broker_id=9)),
    Sample(ApiKey.UPDATE_FEATURES, UpdateFeaturesRequest()),
]
