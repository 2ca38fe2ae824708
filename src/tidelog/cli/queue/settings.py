"""The settings of a group that matter for its queue."""

from tidelog.base.errors import ErrorCode
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError, Exit

DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"
SHOWN = (
    "share.record.lock.duration.ms",
    "share.delivery.count.limit",
    "share.retry.backoff.ms",
    "share.retry.backoff.max.ms",
    "share.auto.offset.reset",
    "share.isolation.level",
    "share.partition.max.record.locks",
    DEAD_LETTER_TOPIC,
    "errors.deadletterqueue.copy.record.enable",
)


def queue_settings(direct: DirectCluster, group: str) -> dict[str, str]:
    """Those that the broker has; none where it does not show them to this user."""
    found = read_settings(direct, Kind.GROUP, [group], None).get(group, {})
    return {name: found[name] for name in SHOWN if name in found}


def dead_letter_topic(direct: DirectCluster, group: str) -> str:
    """NOT_FOUND for a group without one; DENIED where the user may not see the settings of the group."""
    settings = read_settings(direct, Kind.GROUP, [group], [DEAD_LETTER_TOPIC])
    if group not in settings:
        raise refusal(
            ErrorCode.GROUP_AUTHORIZATION_FAILED,
            None,
            f"The dead-letter topic of group '{group}' is not known without --dead-letter-topic",
        )
    name = settings[group].get(DEAD_LETTER_TOPIC, "")
    if name:
        return name
    raise CliError(
        f"Group '{group}' has no dead-letter topic.",
        cause=f"its setting {DEAD_LETTER_TOPIC} is empty, so that records it gives up on are dropped; "
        "or the name of the group is misspelt.",
        attempt=f"tidelog config set group {group} {DEAD_LETTER_TOPIC}=dlq.{group}; "
        "or --dead-letter-topic, if it had one before",
        code=Exit.NOT_FOUND,
    )
