"""Groups of Kafka Streams instances (KIP-1071): their timeouts and standby tasks, and a group's limits."""

from tidelog.base.config.setting import INT_MAX, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "group.streams.session.timeout.ms",
        Kind.INT,
        45_000,
        "After how much silence a member of a streams group counts as dead. A group may have its own, as "
        "`streams.session.timeout.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.min.session.timeout.ms",
        Kind.INT,
        45_000,
        "The shortest session timeout that a streams group may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.session.timeout.ms",
        Kind.INT,
        60_000,
        "The longest session timeout that a streams group may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "How often members of streams groups are told to send a heartbeat. A group may have its own, as "
        "`streams.heartbeat.interval.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.min.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "The shortest heartbeat interval that a streams group may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.heartbeat.interval.ms",
        Kind.INT,
        15_000,
        "The longest heartbeat interval that a streams group may have.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.size",
        Kind.INT,
        10_000,
        "How many members a streams group may have. One more is refused.",
        minimum=1,
        kafka_default=str(INT_MAX),
    ),
    Setting(
        "group.streams.num.standby.replicas",
        Kind.INT,
        0,
        "How many copies of each stateful task's state other members keep up to date. A group may have its "
        "own, as `streams.num.standby.replicas`.",
        minimum=0,
    ),
    Setting(
        "group.streams.max.standby.replicas",
        Kind.INT,
        2,
        "The most standby copies that a streams group may ask for.",
        minimum=0,
    ),
    Setting(
        "group.streams.initial.rebalance.delay.ms",
        Kind.INT,
        3_000,
        "How long a new streams group waits for more members before it hands out tasks for the first time. A "
        "group may have its own, as `streams.initial.rebalance.delay.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.assignment.interval.ms",
        Kind.INT,
        1_000,
        "How long a streams group keeps an assignment at least before it hands out tasks anew, so that "
        "members that come or go together cost one rebalance. A group may have its own, as "
        "`streams.assignment.interval.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.min.assignment.interval.ms",
        Kind.INT,
        0,
        "The shortest interval between two assignments that a streams group may have.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.assignment.interval.ms",
        Kind.INT,
        15_000,
        "The longest interval between two assignments that a streams group may have.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
)
