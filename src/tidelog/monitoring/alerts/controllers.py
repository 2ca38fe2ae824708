"""The controller and the quorum of the metadata."""

from tidelog.monitoring.alerts.alert import critical, warning

NO_CONTROLLER = critical(
    "TidelogNoController",
    "sum by (job) (tidelog_active_controller) == 0",
    "1m",
    "{{ $labels.job }} has no controller",
    "No broker of {{ $labels.job }} is the controller: no topic, leader or setting can change, and the next "
    "broker that fails takes its partitions offline.",
)
TWO_CONTROLLERS = critical(
    "TidelogTwoControllers",
    "sum by (job) (tidelog_active_controller) > 1",
    "2m",
    "{{ $labels.job }} has {{ $value }} controllers",
    "{{ $value }} brokers of {{ $labels.job }} say that they are the controller: an old one is cut off "
    "from the quorum, or two clusters share one job in Prometheus.",
)
VOTER_LAG = warning(
    "TidelogQuorumVoterLagging",
    "max by (job, broker) (tidelog_raft_voter_lag_entries) > 1000",
    "5m",
    "Voter {{ $labels.broker }} of {{ $labels.job }} is behind",
    "Broker {{ $labels.broker }} of {{ $labels.job }} is {{ $value }} entries of the metadata behind: should "
    "another voter fail, the quorum waits for it.",
)
ELECTION_STORM = warning(
    "TidelogQuorumElections",
    "max by (job) (increase(tidelog_raft_leader_changes_total[15m])) > 3",
    "0m",
    "The controller of {{ $labels.job }} keeps changing",
    "The quorum of {{ $labels.job }} had {{ $value | humanize }} leaders in 15 minutes.",
)
METADATA_ERRORS = critical(
    "TidelogMetadataErrors",
    "increase(tidelog_metadata_errors_total[15m]) > 0",
    "0m",
    "Broker {{ $labels.instance }} could not apply metadata",
    "{{ $labels.instance }} of {{ $labels.job }} failed to apply {{ $value | humanize }} changes of the "
    "metadata: it may serve with old topics, leaders or settings.",
)
