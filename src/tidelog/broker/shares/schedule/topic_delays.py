"""The settings of topics that hold records back, looked up for each batch that a share group reads."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.topic_config import topic_setting
from tidelog.base.ids import Uuid
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.shares.schedule.due_times import TopicDelay

DELAY_MS = "share.delivery.delay.ms"
READS_HEADERS = "share.delivery.headers.enable"
TOPICS_MAX: Final = 4096
"""Kept; beyond, all are looked up again."""
OFF: Final = TopicDelay(0, reads_headers=False)


class _Kept(NamedTuple):
    configs: Mapping[str, str]
    config: BrokerConfig
    delay: TopicDelay


class TopicDelays:
    __slots__ = ("_kept", "_metadata")

    def __init__(self, metadata: MetadataService) -> None:
        self._metadata = metadata
        self._kept: dict[Uuid, _Kept] = {}

    def of(self, topic_id: Uuid) -> TopicDelay:
        topic = self._metadata.image.topics_by_id.get(topic_id)
        if topic is None:
            return OFF
        configs, config = topic.configs, self._metadata.config
        kept = self._kept.get(topic_id)
        if kept is None or kept.configs is not configs or kept.config is not config:
            if len(self._kept) >= TOPICS_MAX:
                self._kept.clear()
            delay = TopicDelay(
                int(str(topic_setting(DELAY_MS, configs, config))),
                reads_headers=bool(topic_setting(READS_HEADERS, configs, config)),
            )
            kept = self._kept[topic_id] = _Kept(configs, config, delay)
        return kept.delay
