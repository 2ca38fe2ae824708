"""The table of group settings: what a consumer, streams or share group may have of its own.

A group without a value of its own follows the broker setting it is named with; the broker's minimum and
maximum settings say how far it may go. To add a setting, add its line; read it with `GroupConfigs.of(id)`.
"""

from typing import NamedTuple

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.setting import Dynamic, Kind, Setting, Unit, Value

_KEPT = "Reserved for share groups (KIP-932), which brokers do not offer: it has no effect."


class Limits(NamedTuple):
    """The broker settings that bound a setting of a group; None where there is no such bound."""

    least: str | None = None
    most: str | None = None


class Timing(NamedTuple):
    """Two settings of one kind of group: silence must be longer than the pause between two heartbeats."""

    session: str
    heartbeat: str


def _group(name: str, doc: str) -> Setting:
    """A setting that overrides the broker's `group.<name>`."""
    overridden = BROKER_SETTINGS[f"group.{name}"]
    return overridden._replace(
        name=name, doc=doc, dynamic=Dynamic.CLUSTER_WIDE, broker_synonyms=(overridden.name,)
    )


def _share(name: str, default: int, least: int, most: int, unit: Unit = Unit.NONE) -> Setting:
    """Bounds as Kafka's brokers have them by default; there is nothing here that could set others."""
    return Setting(name, Kind.INT, default, _KEPT, least, most, unit=unit, dynamic=Dynamic.CLUSTER_WIDE)


def _check_reset(value: Value) -> str | None:
    text = str(value)
    if text in ("earliest", "latest") or (text.startswith("by_duration:P") and len(text) > 13):
        return None
    return "use earliest, latest, or by_duration: with a duration such as P1DT2H"


GROUP_SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        _group(
            "consumer.session.timeout.ms",
            "How long a member of this consumer group (KIP-848) may send no heartbeat before it is removed.",
        ),
        _group(
            "consumer.heartbeat.interval.ms",
            "How often the members of this consumer group (KIP-848) send heartbeats.",
        ),
        _group(
            "streams.session.timeout.ms",
            "How long a member of this group may send no heartbeat before it is removed.",
        ),
        _group(
            "streams.heartbeat.interval.ms",
            "How often the members of this group send heartbeats.",
        ),
        _group(
            "streams.num.standby.replicas",
            "The number of standby replicas of each stateful task of this group.",
        ),
        _group(
            "streams.initial.rebalance.delay.ms",
            "How long this group waits for more members before its first assignment.",
        ),
        _group(
            "streams.assignment.interval.ms",
            "The minimum time between two assignments of this group.",
        ),
        _share("share.session.timeout.ms", 45_000, 45_000, 60_000, Unit.MILLISECONDS),
        _share("share.heartbeat.interval.ms", 5_000, 5_000, 15_000, Unit.MILLISECONDS),
        _share("share.record.lock.duration.ms", 30_000, 15_000, 60_000, Unit.MILLISECONDS),
        _share("share.delivery.count.limit", 5, 2, 10),
        _share("share.partition.max.record.locks", 2_000, 100, 4_000),
        Setting(
            "share.auto.offset.reset",
            Kind.STRING,
            "latest",
            _KEPT,
            check=_check_reset,
            special="`earliest`, `latest` or `by_duration:P1DT2H`",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            "share.isolation.level",
            Kind.ENUM,
            "read_uncommitted",
            _KEPT,
            choices=("read_committed", "read_uncommitted"),
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting("share.renew.acknowledge.enable", Kind.BOOL, True, _KEPT, dynamic=Dynamic.CLUSTER_WIDE),
    )
}

GROUP_LIMITS: dict[str, Limits] = {
    "consumer.session.timeout.ms": Limits(
        "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"
    ),
    "consumer.heartbeat.interval.ms": Limits(
        "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"
    ),
    "streams.session.timeout.ms": Limits(
        "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"
    ),
    "streams.heartbeat.interval.ms": Limits(
        "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"
    ),
    "streams.num.standby.replicas": Limits(most="group.streams.max.standby.replicas"),
    "streams.assignment.interval.ms": Limits(
        "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"
    ),
}

GROUP_TIMINGS = (
    Timing("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"),
    Timing("streams.session.timeout.ms", "streams.heartbeat.interval.ms"),
    Timing("share.session.timeout.ms", "share.heartbeat.interval.ms"),
)
