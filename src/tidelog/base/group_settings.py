"""The table of group settings: what a consumer, streams or share group may have of its own.

A group without a value of its own follows the broker setting it is named with; the broker's minimum and
maximum settings say how far it may go. To add a setting, add its line; read it with `GroupConfigs.of(id)`.
"""

from typing import NamedTuple

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.setting import Dynamic, Kind, Setting, Value
from tidelog.base.durations import parse_duration_ms

BY_DURATION = "by_duration:"


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


def _check_reset(value: Value) -> str | None:
    text = str(value)
    if text in ("earliest", "latest"):
        return None
    try:
        parse_duration_ms(text.removeprefix(BY_DURATION))
        is_duration = text.startswith(BY_DURATION)
    except ValueError:
        is_duration = False
    return None if is_duration else "use earliest, latest, or by_duration: with a duration such as P1DT2H"


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
            "consumer.assignment.interval.ms",
            "The minimum time between two assignments of this consumer group (KIP-848).",
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
        _group(
            "share.session.timeout.ms",
            "How long a member of this share group may send no heartbeat before it is removed.",
        ),
        _group(
            "share.heartbeat.interval.ms",
            "How often the members of this share group send heartbeats.",
        ),
        _group(
            "share.assignment.interval.ms",
            "The minimum time between two assignments of this share group.",
        ),
        _group(
            "share.record.lock.duration.ms",
            "How long a member of this share group may keep a record without an acknowledgement.",
        ),
        _group(
            "share.delivery.count.limit",
            "How often a record is delivered to this share group before it counts as undeliverable.",
        ),
        _group(
            "share.partition.max.record.locks",
            "How many records of one partition the members of this share group may hold together.",
        ),
        _group(
            "share.retry.backoff.ms",
            "How long a record that this share group released waits before its second delivery. The wait "
            "doubles with each further delivery.",
        ),
        _group(
            "share.retry.backoff.max.ms",
            "The longest wait of a released record that doubling may lead to.",
        ),
        Setting(
            "share.auto.offset.reset",
            Kind.STRING,
            "latest",
            "Where this share group starts in a partition that it reads for the first time.",
            check=_check_reset,
            special="`earliest`, `latest` or `by_duration:P1DT2H`",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            "share.isolation.level",
            Kind.ENUM,
            "read_uncommitted",
            "Whether this share group gets records of open and aborted transactions.",
            choices=("read_committed", "read_uncommitted"),
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            "share.renew.acknowledge.enable",
            Kind.BOOL,
            True,
            "Whether members of this share group may renew the locks of their records (KIP-1222).",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            "errors.deadletterqueue.topic.name",
            Kind.STRING,
            "",
            "The topic for records that this share group rejected, or that were delivered to it too often.",
            special="empty: such records are archived",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            "errors.deadletterqueue.copy.record.enable",
            Kind.BOOL,
            True,
            "Whether a dead letter has the key, the value and the headers of its record, beside the headers "
            "that say where it comes from and why.",
            dynamic=Dynamic.CLUSTER_WIDE,
            kafka_default="false",
        ),
    )
}

GROUP_LIMITS: dict[str, Limits] = {
    "consumer.session.timeout.ms": Limits(
        "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"
    ),
    "consumer.heartbeat.interval.ms": Limits(
        "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"
    ),
    "consumer.assignment.interval.ms": Limits(
        "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"
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
    "share.session.timeout.ms": Limits(
        "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"
    ),
    "share.heartbeat.interval.ms": Limits(
        "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"
    ),
    "share.assignment.interval.ms": Limits(
        "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"
    ),
    "share.record.lock.duration.ms": Limits(
        "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"
    ),
    "share.delivery.count.limit": Limits(
        "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"
    ),
    "share.partition.max.record.locks": Limits(
        "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"
    ),
}

GROUP_TIMINGS = (
    Timing("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"),
    Timing("streams.session.timeout.ms", "streams.heartbeat.interval.ms"),
    Timing("share.session.timeout.ms", "share.heartbeat.interval.ms"),
)
