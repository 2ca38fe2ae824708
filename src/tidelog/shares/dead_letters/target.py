"""Where dead letters of a share partition go now, or why they cannot go anywhere.

Settings of the group, of the topic and of the cluster can change at any time, so each write asks again.
"""

from typing import NamedTuple

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.group_config import resolve_group
from tidelog.base.config.topic_config import topic_setting
from tidelog.base.ids import NodeId, Uuid
from tidelog.metadata.configs.dead_letter_topics import (
    GROUP_ENABLE,
    NAME_PREFIX,
    TOPIC_NAME,
    why_no_dead_letter_name,
)
from tidelog.metadata.image.entities import TopicImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.shares.dead_letters.letters import Origin

AUTO_CREATE = "errors.deadletterqueue.auto.create.topics.enable"
COPY_RECORD = "errors.deadletterqueue.copy.record.enable"
MAX_BYTES = ("max.message.bytes", "segment.bytes")
"""Both limit a batch, which lies in one segment."""

CREATED_WITH = ((GROUP_ENABLE, "true"), ("message.timestamp.type", "CreateTime"))
"""Settings of a dead-letter topic that the broker creates. A dead letter's time is its own on any cluster."""


class Target(NamedTuple):
    name: str
    topic_id: Uuid
    partition: int
    leader: NodeId
    bytes_max: int


class Creatable(NamedTuple):
    """The topic does not exist, and this broker may create it."""

    name: str


class NoTarget(NamedTuple):
    why: str


class Archived(NamedTuple):
    """The group has no dead-letter topic (any more): what waits for one is archived."""


class DeadLetterSettings(NamedTuple):
    """What a share group wants."""

    topic: str
    copies_records: bool


def dead_letter_settings(image: ClusterImage, config: BrokerConfig, group_id: str) -> DeadLetterSettings:
    settings = resolve_group(image.group_configs.get(group_id, {}), config)
    return DeadLetterSettings(settings.text(TOPIC_NAME), settings.bool(COPY_RECORD))


def choose_target(
    image: ClusterImage, config: BrokerConfig, origin: Origin
) -> Target | Creatable | NoTarget | Archived:
    name = dead_letter_settings(image, config, origin.group).topic
    if not name:
        return Archived()
    if name == origin.topic:
        return NoTarget(
            f"the group {origin.group} reads {name}, which is its own dead-letter topic: its dead letters "
            f"would come back to it for ever. Set another {TOPIC_NAME} for the group"
        )
    if why := why_no_dead_letter_name(name, config.text(NAME_PREFIX)):
        return NoTarget(f"{why} Set another {TOPIC_NAME} for the group {origin.group}")
    topic = image.topics.get(name)
    if topic is None:
        if config.bool(AUTO_CREATE):
            return Creatable(name)
        return NoTarget(
            f"the dead-letter topic {name} does not exist. Create it with {GROUP_ENABLE}=true, or set "
            f"{AUTO_CREATE}=true for the cluster"
        )
    if not topic_setting(GROUP_ENABLE, topic.configs, config):
        return NoTarget(
            f"the topic {name} does not take dead letters. Set {GROUP_ENABLE}=true for it, or another "
            f"{TOPIC_NAME} for the group {origin.group}"
        )
    return target_in(topic, origin.partition % len(topic.partitions), config)


def target_in(topic: TopicImage, index: int, config: BrokerConfig) -> Target | NoTarget:
    """For a write that was begun, too: it stays with its topic, whatever the settings are by now."""
    partition = topic.partition(index)
    if partition is None or partition.leader < 0:
        return NoTarget(f"the partition {topic.name}-{index} has no leader at the moment")
    bytes_max = min(int(str(topic_setting(name, topic.configs, config))) for name in MAX_BYTES)
    return Target(topic.name, topic.id, index, partition.leader, bytes_max)
