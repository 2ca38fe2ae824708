"""The cluster: its controller, its quorum and its metadata, as this broker sees them."""

from tidelog.metrics.family import counter, gauge

_CONTROLLER = "kafka.controller:type=KafkaController,name={}"
_RAFT = "kafka.server:type=raft-metrics,name={}"

INFO = gauge(
    "tidelog_info",
    "1, with what this process is in its labels.",
    "version",
    "python",
    "cluster_id",
    "broker",
    "rack",
)
READY = gauge("tidelog_ready", "1 while this broker serves clients, as /readyz says.")
ACTIVE_CONTROLLER = gauge(
    "tidelog_active_controller",
    "1 on the broker that is the controller.",
    kafka=_CONTROLLER.format("ActiveControllerCount"),
)
BROKERS = gauge(
    "tidelog_brokers",
    "Registered brokers by state (active, fenced, stopping), at the controller.",
    "state",
    kafka=_CONTROLLER.format("ActiveBrokerCount|FencedBrokerCount"),
)
TOPICS = gauge("tidelog_topics", "Topics, at the controller.", kafka=_CONTROLLER.format("GlobalTopicCount"))
PARTITIONS = gauge(
    "tidelog_partitions", "Partitions, at the controller.", kafka=_CONTROLLER.format("GlobalPartitionCount")
)
OFFLINE_PARTITIONS = gauge(
    "tidelog_offline_partitions",
    "Partitions without a leader, at the controller.",
    kafka=_CONTROLLER.format("OfflinePartitionsCount"),
)
IMBALANCED_PARTITIONS = gauge(
    "tidelog_imbalanced_partitions",
    "Partitions that another than the preferred replica leads, at the controller.",
    kafka=_CONTROLLER.format("PreferredReplicaImbalanceCount"),
)
LEADER_ELECTIONS = counter(
    "tidelog_leader_elections_total",
    "Changes of partition leaders that this broker has seen.",
    kafka="kafka.controller:type=ControllerStats,name=LeaderElectionRateAndTimeMs",
)
UNCLEAN_ELECTIONS = counter(
    "tidelog_unclean_elections_total",
    "Leaders elected from outside the in-sync set that this broker has seen: records may be lost.",
    kafka="kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
)
RAFT_ROLE = gauge(
    "tidelog_raft_role",
    "1 for the role of this broker in the quorum: leader, follower, candidate, prospective or observer.",
    "role",
    kafka=_RAFT.format("current-state"),
)
RAFT_TERM = gauge("tidelog_raft_term", "The term.", kafka=_RAFT.format("current-epoch"))
RAFT_LEADER = gauge(
    "tidelog_raft_leader",
    "The broker that leads the quorum; -1 without.",
    kafka=_RAFT.format("current-leader"),
)
RAFT_LOG_END = gauge(
    "tidelog_raft_log_end_index",
    "The last entry of this broker's metadata log.",
    kafka=_RAFT.format("log-end-offset"),
)
RAFT_COMMIT = gauge(
    "tidelog_raft_commit_index", "The last committed entry known here.", kafka=_RAFT.format("high-watermark")
)
RAFT_APPLIED = gauge(
    "tidelog_raft_applied_index",
    "The last entry that this broker has applied.",
    kafka="kafka.server:type=broker-metadata-metrics,name=last-applied-record-offset",
)
RAFT_VOTER_LAG = gauge(
    "tidelog_raft_voter_lag_entries", "How far a voter is behind, at the leader of the quorum.", "broker"
)
RAFT_ELECTIONS = counter("tidelog_raft_elections_total", "Elections that this broker began.")
RAFT_LEADER_CHANGES = counter(
    "tidelog_raft_leader_changes_total", "Leaders of the quorum that this broker has seen."
)
METADATA_ERRORS = counter(
    "tidelog_metadata_errors_total",
    "Metadata that this broker could not apply.",
    kafka="kafka.server:type=broker-metadata-metrics,name=metadata-apply-error-count",
)
FEATURE_LEVEL = gauge("tidelog_feature_level", "The finalized level of a feature.", "feature")
