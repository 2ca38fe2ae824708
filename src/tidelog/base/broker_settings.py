"""The one table of every broker setting. Add a setting to the file of its theme in `tidelog.base.settings`.

Names, meanings and defaults are Kafka's where it has the setting; `ours` and `kafka_default` mark the rest.
"""

from tidelog.base.config.setting import Setting
from tidelog.base.settings import (
    audit,
    authorization,
    cleaner,
    cluster,
    encryption,
    groups,
    log,
    metrics,
    network,
    node,
    quotas,
    sasl,
    schema_registry,
    share_groups,
    streams_groups,
    telemetry,
    tls,
    topics,
    tracing,
    transactions,
)

BROKER_THEMES: dict[str, tuple[Setting, ...]] = {
    "The node": node.SETTINGS,
    "The cluster": cluster.SETTINGS,
    "Listeners and limits": network.SETTINGS,
    "TLS": tls.SETTINGS,
    "SASL and delegation tokens": sasl.SETTINGS,
    "Authorization": authorization.SETTINGS,
    "The audit record": audit.SETTINGS,
    "Quotas": quotas.SETTINGS,
    "Metrics and health": metrics.SETTINGS,
    "Topics and writes": topics.SETTINGS,
    "Logs on disk": log.SETTINGS,
    "Encryption at rest": encryption.SETTINGS,
    "Cleanup and compaction": cleaner.SETTINGS,
    "Consumer groups": groups.SETTINGS,
    "Streams groups": streams_groups.SETTINGS,
    "Share groups": share_groups.SETTINGS,
    "Transactions": transactions.SETTINGS,
    "The schema registry": schema_registry.SETTINGS,
    "Clients' metrics": telemetry.SETTINGS,
    "Traces": tracing.SETTINGS,
}

BROKER_SETTINGS: dict[str, Setting] = {
    setting.name: setting for theme in BROKER_THEMES.values() for setting in theme
}

# Settings that say the same thing in different units, strongest first: the first that is given decides.
BROKER_SYNONYMS: dict[str, tuple[str, ...]] = {
    "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
}
