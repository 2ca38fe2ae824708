"""Consumer groups, committed offsets, and the topic `__consumer_offsets`."""

from tidelog.base.config.setting import INT_MAX, Importance, Kind, Setting, Unit, Value


def check_assignors(value: Value) -> str | None:
    return None if value else "at least one assignor is needed"


SETTINGS = (
    Setting(
        "group.min.session.timeout.ms",
        Kind.INT,
        6_000,
        "The minimum session timeout that a group member may request. A shorter timeout detects failed "
        "members sooner and costs more heartbeats.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.max.session.timeout.ms",
        Kind.INT,
        1_800_000,
        "The maximum session timeout that a group member may request. Its partitions are idle for that "
        "long after it fails.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.initial.rebalance.delay.ms",
        Kind.INT,
        0,
        "How long an empty group waits for more members before its first rebalance. With 0 a single "
        "consumer starts at once, which suits tests and small deployments; a few seconds spare a large "
        "group a rebalance for each member at the start.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        kafka_default="3000; its example file says 0",
    ),
    Setting(
        "group.max.size",
        Kind.INT,
        10_000,
        "The maximum number of members of a group. The broker rejects any further member.",
        minimum=1,
        kafka_default=str(INT_MAX),
    ),
    Setting(
        "group.consumer.session.timeout.ms",
        Kind.INT,
        45_000,
        "How long a member of a consumer group (KIP-848) may send no heartbeat before it is removed. The "
        "broker sets this, not the client. A group can override it with `consumer.session.timeout.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.min.session.timeout.ms",
        Kind.INT,
        45_000,
        "The minimum session timeout of a consumer group (KIP-848).",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.session.timeout.ms",
        Kind.INT,
        60_000,
        "The maximum session timeout of a consumer group (KIP-848).",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "How often members of consumer groups (KIP-848) send heartbeats. Rebalances progress with "
        "heartbeats, so a shorter interval makes them faster and costs more requests. A group can override "
        "it with `consumer.heartbeat.interval.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.min.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "The minimum heartbeat interval of a consumer group (KIP-848).",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.heartbeat.interval.ms",
        Kind.INT,
        15_000,
        "The maximum heartbeat interval of a consumer group (KIP-848).",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.assignment.interval.ms",
        Kind.INT,
        0,
        "The minimum time between two assignments of a consumer group (KIP-848), so that members that join "
        "or leave together cause one rebalance. With 0 each change counts at once, which suits tests and "
        "small deployments; a second spares a large group a rebalance for each member. A group can override "
        "it with `consumer.assignment.interval.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        kafka_default="1000",
    ),
    Setting(
        "group.consumer.min.assignment.interval.ms",
        Kind.INT,
        0,
        "The minimum assignment interval of a consumer group (KIP-848).",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.assignment.interval.ms",
        Kind.INT,
        15_000,
        "The maximum assignment interval of a consumer group (KIP-848).",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.size",
        Kind.INT,
        10_000,
        "The maximum number of members of a consumer group (KIP-848). The broker rejects any further member.",
        minimum=1,
        kafka_default=str(INT_MAX),
    ),
    Setting(
        "group.consumer.assignors",
        Kind.LIST,
        ("uniform", "range"),
        "The assignors that the broker offers to consumer groups (KIP-848); members that choose none get "
        "the first. `uniform` gives every member the same number of partitions and moves as few as "
        "possible; `range` co-locates partitions with the same number across topics of the same size.",
        choices=("uniform", "range"),
        check=check_assignors,
    ),
    Setting(
        "group.consumer.migration.policy",
        Kind.ENUM,
        "bidirectional",
        "Whether a group may switch between the classic and the consumer protocol while it has members. "
        "`upgrade`: when a member with the consumer protocol joins. `downgrade`: when the last such member "
        "leaves. `bidirectional`: both. `disabled`: only empty groups switch.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
    ),
    Setting(
        "offset.metadata.max.bytes",
        Kind.INT,
        4096,
        "The maximum length of the metadata string that a client stores with a committed offset; counted "
        "in characters, as in Kafka.",
        minimum=0,
        unit=Unit.BYTES,
    ),
    Setting(
        "offsets.retention.minutes",
        Kind.INT,
        7 * 24 * 60,
        "How long committed offsets are kept after the group loses its last member, or after the last "
        "commit for a topic that the group no longer subscribes to.",
        minimum=1,
        unit=Unit.MINUTES,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.retention.check.interval.ms",
        Kind.LONG,
        600_000,
        "How often the broker checks for committed offsets and groups that are past their retention.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.commit.timeout.ms",
        Kind.INT,
        5_000,
        "How long a change to a group or offset may take to be committed before the broker tells the "
        "client to retry.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.topic.num.partitions",
        Kind.INT,
        50,
        "The number of partitions of `__consumer_offsets`. Groups are distributed by the hash of their id, "
        "so the number must not change once the topic exists.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.topic.replication.factor",
        Kind.SHORT,
        -1,
        "The replication factor of `__consumer_offsets`, used when the topic is created.",
        minimum=-1,
        importance=Importance.HIGH,
        special="-1: 3, or as many as the cluster has",
        kafka_default="3",
    ),
    Setting(
        "offsets.topic.segment.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The segment size of `__consumer_offsets`. Smaller segments are compacted sooner, so a new "
        "coordinator loads faster.",
        minimum=1024,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
)
