"""The settings of share groups as share partitions use them: a group's own, else the broker's.

Looked up with each use: a change of the settings holds from the next request on.
"""

from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.group_config import GroupConfig, GroupConfigs
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.metadata.image.image import SHARE_VERSION, ClusterImage
from tidelog.replication.read_limit import HIGH_WATERMARK, LAST_STABLE_OFFSET, ReadLimit
from tidelog.shares.partition.limits import Limits

DEAD_LETTERS_SINCE = 2
NO_GROUP = ""
"""The id of no group."""


class GroupLimits:
    __slots__ = ("_config", "_configs", "_image", "_limits", "_metadata")

    def __init__(self, metadata: MetadataService) -> None:
        self._metadata = metadata
        self._config: BrokerConfig | None = None
        self._image: ClusterImage | None = None
        self._configs = GroupConfigs(metadata.config)
        self._limits: dict[str, Limits] = {}
        """By group; groups without settings of their own, which clients name at will, have one together."""

    def config(self, group_id: str) -> GroupConfig:
        self._refresh()
        return self._configs.of(group_id)

    def of(self, group_id: str) -> Limits:
        """One object for as long as no setting changes."""
        self._refresh()
        key = group_id if group_id in self._metadata.image.group_configs else NO_GROUP
        limits = self._limits.get(key)
        if limits is None:
            limits = self._limits[key] = self._resolve(self._configs.of(key))
        return limits

    def lock_ms(self, group_id: str) -> int:
        return int(self.of(group_id).lock_seconds * 1000)

    def read_limit(self, group_id: str) -> ReadLimit:
        """Up to where the group may read a partition."""
        is_committed = self.config(group_id).text("share.isolation.level") == "read_committed"
        return LAST_STABLE_OFFSET if is_committed else HIGH_WATERMARK

    def _refresh(self) -> None:
        config, image = self._metadata.config, self._metadata.image
        if config is self._config and image is self._image:
            return
        before = self._image
        is_same = (
            config is self._config
            and before is not None
            and image.group_configs is before.group_configs
            and image.features is before.features
        )
        self._config, self._image = config, image
        if not is_same:
            self._configs = GroupConfigs(config, image.group_configs)
            self._limits = {}

    def _resolve(self, group: GroupConfig) -> Limits:
        broker = self._metadata.config
        level = self._metadata.image.features.get(SHARE_VERSION, 0)
        return Limits(
            lock_seconds=group.int("share.record.lock.duration.ms") / 1000,
            delivery_count_limit=group.int("share.delivery.count.limit"),
            record_locks_max=group.int("share.partition.max.record.locks"),
            window_max=broker.int("group.share.partition.max.window.records"),
            delayed_max=broker.int("group.share.partition.max.delayed.records"),
            backoff_ms=group.int("share.retry.backoff.ms"),
            backoff_max_ms=group.int("share.retry.backoff.max.ms"),
            has_dead_letters=level >= DEAD_LETTERS_SINCE
            and bool(group.text("errors.deadletterqueue.topic.name")),
            renew_enabled=group.bool("share.renew.acknowledge.enable"),
        )
