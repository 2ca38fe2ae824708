"""The table of topic settings. Each takes its type and bounds from the broker setting it overrides.

A topic without a value of its own follows its broker settings, named here strongest first.
"""

from tidelog.base.broker_settings import BROKER_SETTINGS, BROKER_SYNONYMS
from tidelog.base.config.setting import Dynamic, Importance, Setting, Value, in_milliseconds
from tidelog.base.settings import cluster, schema_registry, share_groups


def _topic(name: str, broker_name: str, doc: str | None = None) -> Setting:
    """A topic setting that overrides `broker_name`; without a doc of its own the broker's fits as it is."""
    overridden = BROKER_SETTINGS[broker_name]
    synonyms = BROKER_SYNONYMS.get(broker_name, (broker_name,))
    return overridden._replace(
        name=name,
        doc=doc or overridden.doc,
        default=_default(synonyms),
        special="; ".join(part for part in overridden.special.split("; ") if not part.startswith("not set")),
        dynamic=Dynamic.CLUSTER_WIDE,
        importance=Importance.MEDIUM,
        broker_synonyms=synonyms,
    )


def _default(synonyms: tuple[str, ...]) -> Value:
    for name in synonyms:
        setting = BROKER_SETTINGS[name]
        if setting.default is not None:
            return in_milliseconds(setting, setting.default)
    return None


TOPIC_SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        _topic("cleanup.policy", "log.cleanup.policy"),
        _topic("compression.type", "compression.type"),
        _topic("compression.gzip.level", "compression.gzip.level"),
        _topic("compression.lz4.level", "compression.lz4.level"),
        _topic("compression.zstd.level", "compression.zstd.level"),
        _topic("delete.retention.ms", "log.cleaner.delete.retention.ms"),
        _topic("durability", "durability"),
        _topic("file.delete.delay.ms", "log.segment.delete.delay.ms"),
        _topic("flush.messages", "log.flush.interval.messages"),
        _topic("flush.ms", "log.flush.interval.ms"),
        _topic("index.interval.bytes", "log.index.interval.bytes"),
        _topic("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
        _topic("max.message.bytes", "message.max.bytes"),
        _topic("message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"),
        _topic("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"),
        _topic("message.timestamp.type", "log.message.timestamp.type"),
        _topic("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"),
        _topic("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"),
        _topic("min.insync.replicas", "min.insync.replicas"),
        _topic("preallocate", "log.preallocate"),
        _topic("produce.validation", "produce.validation"),
        _topic("retention.bytes", "log.retention.bytes"),
        _topic("retention.ms", "log.retention.ms"),
        _topic("segment.bytes", "log.segment.bytes"),
        _topic("segment.index.bytes", "log.index.size.max.bytes"),
        _topic("segment.jitter.ms", "log.roll.jitter.ms"),
        _topic("segment.ms", "log.roll.ms"),
        _topic("unclean.leader.election.enable", "unclean.leader.election.enable"),
        *cluster.TOPIC_ONLY,
        *schema_registry.TOPIC_ONLY,
        *share_groups.TOPIC_ONLY,
    )
}
