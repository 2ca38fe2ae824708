"""Share groups (KIP-932): locks, deliveries, retries, dead letters, and the topic of their state."""

from tidelog.base.config.setting import Dynamic, Importance, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "group.share.session.timeout.ms",
        Kind.INT,
        45_000,
        "How long a member of a share group may send no heartbeat before it is removed. A group can override "
        "it with `share.session.timeout.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.min.session.timeout.ms",
        Kind.INT,
        45_000,
        "The minimum session timeout of a share group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.max.session.timeout.ms",
        Kind.INT,
        60_000,
        "The maximum session timeout of a share group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "How often members of share groups send heartbeats. A group can override it with "
        "`share.heartbeat.interval.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.min.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "The minimum heartbeat interval of a share group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.max.heartbeat.interval.ms",
        Kind.INT,
        15_000,
        "The maximum heartbeat interval of a share group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.max.size",
        Kind.INT,
        200,
        "The maximum number of members of a share group. The broker rejects any further member.",
        minimum=1,
        maximum=1_000,
    ),
    Setting(
        "group.share.assignment.interval.ms",
        Kind.INT,
        1_000,
        "The minimum time between two assignments of a share group. A group can override it with "
        "`share.assignment.interval.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.min.assignment.interval.ms",
        Kind.INT,
        0,
        "The minimum assignment interval of a share group.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.max.assignment.interval.ms",
        Kind.INT,
        15_000,
        "The maximum assignment interval of a share group.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.initialize.retry.interval.ms",
        Kind.INT,
        30_000,
        "How long a share group waits until the initial state of a partition is stored before it asks again.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
    Setting(
        "group.share.record.lock.duration.ms",
        Kind.INT,
        30_000,
        "How long a member of a share group may keep a record without an acknowledgement. Then the record "
        "is available again. A group can override it with `share.record.lock.duration.ms`.",
        minimum=1_000,
        maximum=3_600_000,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.share.min.record.lock.duration.ms",
        Kind.INT,
        1_000,
        "The minimum record lock duration of a share group.",
        minimum=1_000,
        maximum=30_000,
        unit=Unit.MILLISECONDS,
        kafka_default="15000",
    ),
    Setting(
        "group.share.max.record.lock.duration.ms",
        Kind.INT,
        3_600_000,
        "The maximum record lock duration of a share group.",
        minimum=30_000,
        maximum=3_600_000,
        unit=Unit.MILLISECONDS,
        kafka_default="60000",
    ),
    Setting(
        "group.share.delivery.count.limit",
        Kind.INT,
        5,
        "How often a record is delivered to a share group. A record that is released or whose lock ends "
        "after the last delivery goes to the group's dead-letter topic, or is archived if there is none. A "
        "group can override it with `share.delivery.count.limit`.",
        minimum=2,
        maximum=100,
    ),
    Setting(
        "group.share.min.delivery.count.limit",
        Kind.INT,
        2,
        "The minimum delivery count limit of a share group.",
        minimum=2,
        maximum=5,
    ),
    Setting(
        "group.share.max.delivery.count.limit",
        Kind.INT,
        100,
        "The maximum delivery count limit of a share group.",
        minimum=5,
        maximum=100,
        kafka_default="10",
    ),
    Setting(
        "group.share.partition.max.record.locks",
        Kind.INT,
        2_000,
        "How many records of one partition may be locked by the members of one share group together. While "
        "all are, the partition delivers no more. A group can override it with "
        "`share.partition.max.record.locks`.",
        minimum=100,
        maximum=100_000,
    ),
    Setting(
        "group.share.min.partition.max.record.locks",
        Kind.INT,
        100,
        "The minimum record lock limit of a share group.",
        minimum=100,
        maximum=2_000,
    ),
    Setting(
        "group.share.max.partition.max.record.locks",
        Kind.INT,
        100_000,
        "The maximum record lock limit of a share group.",
        minimum=2_000,
        maximum=100_000,
        kafka_default="4000",
    ),
    Setting(
        "group.share.max.share.sessions",
        Kind.INT,
        2_000,
        "The maximum number of share sessions of a broker. A member that fetches from this broker has one.",
        minimum=1,
    ),
    Setting(
        "group.share.partition.max.window.records",
        Kind.INT,
        1_000_000,
        "How far a share group may read ahead of its oldest unfinished record in one partition, in records. "
        "Each record of this window costs about a byte of memory. At the limit, the partition delivers only "
        "records of the window. Scheduled and delayed records keep the window open.",
        minimum=10_000,
        maximum=100_000_000,
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
    Setting(
        "group.share.partition.max.delayed.records",
        Kind.INT,
        100_000,
        "How many records of one partition may wait for a retry in one share group. At the limit, the "
        "partition delivers nothing until some of these are due. Records that are in flight by then may "
        "still be added.",
        minimum=1_000,
        maximum=10_000_000,
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
    Setting(
        "group.share.schedule.memory.bytes",
        Kind.LONG,
        32 * 1024 * 1024,
        "Memory of a broker for the times of scheduled records. Times beyond it are kept in files of the "
        "log dir, 16 bytes a record.",
        minimum=1024 * 1024,
        unit=Unit.BYTES,
        ours=True,
    ),
    Setting(
        "group.share.retry.backoff.ms",
        Kind.INT,
        0,
        "How long a record that a share group released, or whose lock ended, waits before its second "
        "delivery. The wait doubles with each further delivery, up to `group.share.retry.backoff.max.ms`. A "
        "group can override it with `share.retry.backoff.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        special="0: no wait",
        ours=True,
    ),
    Setting(
        "group.share.retry.backoff.max.ms",
        Kind.INT,
        3_600_000,
        "The longest wait that doubling may lead to. A group can override it with "
        "`share.retry.backoff.max.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "errors.deadletterqueue.auto.create.topics.enable",
        Kind.BOOL,
        False,
        "Whether the broker creates the dead-letter topic of a share group when the first record has to be "
        "written to it.",
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "errors.deadletterqueue.topic.name.prefix",
        Kind.STRING,
        "dlq.",
        "The prefix that names of dead-letter topics must have, so that a group cannot have records written "
        "to any other topic.",
        dynamic=Dynamic.CLUSTER_WIDE,
        special="empty: any name",
    ),
    Setting(
        "share.coordinator.state.topic.num.partitions",
        Kind.INT,
        50,
        "The number of partitions of `__share_group_state`. It must not change once the topic exists.",
        minimum=1,
    ),
    Setting(
        "share.coordinator.state.topic.replication.factor",
        Kind.SHORT,
        -1,
        "The replication factor of `__share_group_state` when it is created.",
        minimum=-1,
        special="-1: three, or as many brokers as there are",
        kafka_default="3",
    ),
    Setting(
        "share.coordinator.state.topic.min.isr",
        Kind.SHORT,
        2,
        "The `min.insync.replicas` of `__share_group_state` when it is created, at most the number of its "
        "replicas.",
        minimum=1,
    ),
    Setting(
        "share.coordinator.state.topic.segment.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The segment size of `__share_group_state`.",
        minimum=1024 * 1024,
        unit=Unit.BYTES,
    ),
    Setting(
        "share.coordinator.snapshot.update.records.per.snapshot",
        Kind.INT,
        500,
        "The number of updates of a share partition's state between two snapshots. There are more if the "
        "state is larger than these updates.",
        minimum=0,
        maximum=500,
    ),
    Setting(
        "share.coordinator.write.timeout.ms",
        Kind.INT,
        5_000,
        "How long a write to `__share_group_state` may take to be replicated.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "share.coordinator.state.topic.prune.interval.ms",
        Kind.INT,
        300_000,
        "How often records of `__share_group_state` that later snapshots replace are deleted.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
    Setting(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        Kind.INT,
        300_000,
        "How long a share partition's state may stay without a new snapshot. An old snapshot of an idle "
        "partition would keep all later records from being deleted.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
)

TOPIC_ONLY = (
    Setting(
        "errors.deadletterqueue.group.enable",
        Kind.BOOL,
        False,
        "Whether groups may use this topic as their dead-letter topic.",
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "share.delivery.delay.ms",
        Kind.LONG,
        0,
        "How long share groups hold back each record of this topic, from its timestamp on. Plain consumers "
        "see every record at once.",
        minimum=0,
        maximum=365 * 24 * 3_600_000,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special="0: no delay",
        ours=True,
    ),
    Setting(
        "share.delivery.headers.enable",
        Kind.BOOL,
        True,
        "Whether share groups look for the headers `tidelog-deliver-at` and `tidelog-delay`, which hold a "
        "record back. The broker then looks into each batch that it delivers to a share group, and "
        "decompresses those that are compressed.",
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
    Setting(
        "share.delete.acknowledged",
        Kind.BOOL,
        False,
        "Whether records that every share group of the topic has finished with are deleted, so that a "
        "queue's disk use follows its backlog. Files are deleted by whole segments: `segment.bytes` says how "
        "closely. A topic without share groups keeps its records. Plain consumers that lag behind lose "
        "records that are deleted.",
        dynamic=Dynamic.CLUSTER_WIDE,
        ours=True,
    ),
)
