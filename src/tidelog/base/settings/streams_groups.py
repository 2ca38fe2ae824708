"""Streams groups (KIP-1071): timeouts, standby tasks, and limits."""

from tidelog.base.config.setting import INT_MAX, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "group.streams.session.timeout.ms",
        Kind.INT,
        45_000,
        "How long a member of a streams group may send no heartbeat before it is removed. A group can "
        "override it with `streams.session.timeout.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.min.session.timeout.ms",
        Kind.INT,
        45_000,
        "The minimum session timeout of a streams group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.session.timeout.ms",
        Kind.INT,
        60_000,
        "The maximum session timeout of a streams group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "How often members of streams groups send heartbeats. A group can override it with "
        "`streams.heartbeat.interval.ms`.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.min.heartbeat.interval.ms",
        Kind.INT,
        5_000,
        "The minimum heartbeat interval of a streams group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.heartbeat.interval.ms",
        Kind.INT,
        15_000,
        "The maximum heartbeat interval of a streams group.",
        minimum=1,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.size",
        Kind.INT,
        10_000,
        "The maximum number of members of a streams group. The broker rejects any further member.",
        minimum=1,
        kafka_default=str(INT_MAX),
    ),
    Setting(
        "group.streams.num.standby.replicas",
        Kind.INT,
        0,
        "The number of standby replicas of each stateful task. A group can override it with "
        "`streams.num.standby.replicas`.",
        minimum=0,
    ),
    Setting(
        "group.streams.max.standby.replicas",
        Kind.INT,
        2,
        "The maximum number of standby replicas that a streams group may request.",
        minimum=0,
    ),
    Setting(
        "group.streams.initial.rebalance.delay.ms",
        Kind.INT,
        3_000,
        "How long a new streams group waits for more members before its first assignment. A group can "
        "override it with `streams.initial.rebalance.delay.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.assignment.interval.ms",
        Kind.INT,
        1_000,
        "The minimum time between two assignments of a streams group, so that members that join or leave "
        "together cause one rebalance. A group can override it with `streams.assignment.interval.ms`.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.min.assignment.interval.ms",
        Kind.INT,
        0,
        "The minimum assignment interval of a streams group.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "group.streams.max.assignment.interval.ms",
        Kind.INT,
        15_000,
        "The maximum assignment interval of a streams group.",
        minimum=0,
        unit=Unit.MILLISECONDS,
    ),
)
