"""Every metric of Tidelog, by theme: what the reference page lists and what dashboards and alerts may use."""

from tidelog.metrics.families import (
    clients,
    cluster,
    connections,
    faults,
    groups,
    partitions,
    pipelines,
    process,
    quotas,
    registry,
    requests,
    scrapes,
    shares,
    storage,
    topics,
    transactions,
)
from tidelog.metrics.family import Family

THEMES = (
    requests,
    connections,
    topics,
    partitions,
    groups,
    shares,
    transactions,
    registry,
    cluster,
    storage,
    faults,
    quotas,
    process,
    clients,
    pipelines,
    scrapes,
)

FAMILIES: dict[str, Family] = {
    value.name: value for theme in THEMES for value in vars(theme).values() if isinstance(value, Family)
}
