"""Share groups: queues at their coordinators and at the leaders of their partitions."""

from tidelog.metrics.family import counter, gauge

_IN_FLIGHT = "kafka.server:type=SharePartitionMetrics,name=InFlightMessageCount"

DEPTH = gauge(
    "tidelog_share_group_depth_records",
    "Records of a topic that a share group has not finished, with or without members, by the state that the "
    "coordinators on this broker keep. Sum it over brokers.",
    "group",
    "topic",
    kafka="kafka-share-groups --describe --offsets (lag)",
)
OLDEST_SECONDS = gauge(
    "tidelog_share_group_oldest_record_seconds",
    "How long the oldest record that a share group has not finished has been in its partition; where it was "
    "there already when the coordinator began to watch, the time since then.",
    "group",
    "topic",
)
ACQUIRED = gauge(
    "tidelog_share_group_acquired_records",
    "Records that members of a share group hold, in partitions that this broker leads.",
    "group",
    "topic",
    kafka=_IN_FLIGHT,
)
SCHEDULED = gauge(
    "tidelog_share_group_scheduled_records",
    "Records that are held back from a share group until their time, as far as it has read.",
    "group",
    "topic",
)
DELAYED = gauge(
    "tidelog_share_group_delayed_records",
    "Records that wait for a retry in a share group.",
    "group",
    "topic",
)
ARCHIVING = gauge(
    "tidelog_share_group_archiving_records",
    "Records that a share group gave up on, and that are not in its dead-letter topic yet.",
    "group",
    "topic",
)
HELD_UP = gauge(
    "tidelog_share_group_held_up_dead_letters",
    "Partitions of a share group whose dead letters cannot be written at the moment.",
    "group",
)
PARTITIONS = gauge(
    "tidelog_share_partitions", "Share partitions, one a group and partition, that are loaded."
)
SESSIONS = gauge(
    "tidelog_share_sessions",
    "Share sessions: members of share groups that fetch from this broker.",
    kafka="kafka.server:type=ShareSessionCache,name=ShareSessionsCount",
)
SESSION_PARTITIONS = gauge(
    "tidelog_share_session_partitions",
    "Partitions in the share sessions of this broker.",
    kafka="kafka.server:type=ShareSessionCache,name=SharePartitionsCount",
)
DELIVERIES = counter("tidelog_share_deliveries_total", "Records delivered to members of share groups.")
REDELIVERIES = counter(
    "tidelog_share_redeliveries_total",
    "Records delivered to members of share groups for the second time or later.",
)
ACKNOWLEDGEMENTS = counter(
    "tidelog_share_acknowledgements_total",
    "Records acknowledged by members of share groups, by type (gap, accept, release, reject, renew).",
    "type",
    kafka="kafka.server:type=ShareGroupMetrics,name=RecordAcknowledgementsPerSec",
)
LOCK_TIMEOUTS = counter(
    "tidelog_share_lock_timeouts_total",
    "Records that a member of a share group kept for too long, so that their locks ended.",
    kafka="kafka.server:type=SharePartitionMetrics,name=AcquisitionLockTimeoutPerSec",
)
DEAD_LETTERS = counter("tidelog_share_dead_letters_total", "Dead letters that this broker has written.")
DEAD_LETTER_FAILURES = counter(
    "tidelog_share_dead_letter_failures_total",
    "Tries to write dead letters that failed; each is made again.",
)
STATE_SAVES = counter(
    "tidelog_share_state_saves_total", "Saves of the state of share partitions that this broker leads."
)
STATE_SAVE_FAILURES = counter(
    "tidelog_share_state_save_failures_total", "Saves that failed; each is made again."
)
DELETED = counter(
    "tidelog_share_deleted_records_total",
    "Records that this broker has deleted since every share group had finished them.",
)
