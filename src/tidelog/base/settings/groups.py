"""Consumer groups, committed offsets and the topic that holds both."""

from tidelog.base.config.setting import INT_MAX, Importance, Kind, Setting, Unit, Value


def check_assignors(value: Value) -> str | None:
    return None if value else "at least one assignor is needed"


SETTINGS = (
    Setting(
        "group.min.session.timeout.ms",
        Kind.INT,
        6_000,
        "The shortest session timeout that a member of a group may ask for. A shorter one finds dead "
        "members sooner and costs more heartbeats.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.max.session.timeout.ms",
        Kind.INT,
        1_800_000,
        "The longest session timeout that a member of a group may ask for. Its partitions lie idle that "
        "long after it died.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.initial.rebalance.delay.ms",
        Kind.INT,
        0,
        "How long an empty group waits for more members before it hands out partitions for the first "
        "time. With 0 a lone consumer starts at once, which is what tests and small deployments want; a few "
        "seconds spare a group of many members a rebalance for each of them at the start.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        kafka_default="3000; its example file says 0",
    ),
    Setting(
        "group.max.size",
        Kind.INT,
        10_000,
        "How many members a group may have. One more is refused.",
        minimum=1,
        kafka_default=str(INT_MAX),
    ),
    Setting(
        "group.consumer.session.timeout.ms",
        Kind.INT,
        45_000,
        "After how much silence a member of a group of the new protocol (KIP-848) counts as dead. There the "
        "broker says, not the client. A group may have its own, as `consumer.session.timeout.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.min.session.timeout.ms",
        Kind.INT,
        45_000,
        "The shortest session timeout that a group of the new protocol may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.session.timeout.ms",
        Kind.INT,
        60_000,
        "The longest session timeout that a group of the new protocol may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "How often members of groups of the new protocol are told to send a heartbeat. A rebalance moves on "
        "by heartbeats, so a shorter interval makes it quicker and costs more requests. A group may have its "
        "own, as `consumer.heartbeat.interval.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.min.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "The shortest heartbeat interval that a group of the new protocol may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.heartbeat.interval.ms",
        Kind.INT,
        15_000,
        "The longest heartbeat interval that a group of the new protocol may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.consumer.max.size",
        Kind.INT,
        10_000,
        "How many members a group of the new protocol may have. One more is refused.",
        minimum=1,
        kafka_default=str(INT_MAX),
    ),
    Setting(
        "group.consumer.assignors",
        Kind.LIST,
        ("uniform", "range"),
        "How the broker can share partitions among the members of groups of the new protocol; the first is "
        "for members that do not choose. `uniform` gives everybody the same number and moves as little as it "
        "can; `range` keeps partitions of the same number in topics of the same size together.",
        choices=("uniform", "range"),
        check=check_assignors,
    ),
    Setting(
        "group.consumer.migration.policy",
        Kind.ENUM,
        "bidirectional",
        "Whether a group may change between the classic and the new protocol while it has members. "
        "`upgrade`: when a member of the new protocol joins. `downgrade`: when the last such member goes. "
        "`bidirectional`: both. `disabled`: only empty groups change.",
        choices=("bidirectional", "upgrade", "downgrade", "disabled"),
    ),
    Setting(
        "offset.metadata.max.bytes",
        Kind.INT,
        4096,
        "How long the text may be that a client stores beside a committed offset; counted in characters, as "
        "Kafka does.",
        minimum=0,
        unit=Unit.BYTES,
    ),
    Setting(
        "offsets.retention.minutes",
        Kind.INT,
        7 * 24 * 60,
        "How long committed offsets are kept once nobody needs them: after the group lost its last "
        "member, or after the last commit for a topic that the group no longer reads.",
        minimum=1,
        unit=Unit.MINUTES,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.retention.check.interval.ms",
        Kind.LONG,
        600_000,
        "How often the broker looks for committed offsets and groups that are past their retention.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.commit.timeout.ms",
        Kind.INT,
        5_000,
        "How long a change of a group or offset may take to become safe before the client is told to try "
        "again.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.topic.num.partitions",
        Kind.INT,
        50,
        "How many partitions `__consumer_offsets` is created with. Groups are spread over them by the hash "
        "of their name, so the number must not change once the topic exists.",
        minimum=1,
        importance=Importance.HIGH,
    ),
    Setting(
        "offsets.topic.replication.factor",
        Kind.SHORT,
        -1,
        "How many brokers hold each partition of `__consumer_offsets`, taken when the topic is created.",
        minimum=-1,
        importance=Importance.HIGH,
        special="-1: 3, or as many as the cluster has",
        kafka_default="3",
    ),
    Setting(
        "offsets.topic.segment.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The segment size of `__consumer_offsets`. Smaller segments are compacted sooner, which makes a new "
        "coordinator load faster.",
        minimum=1024,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
)
