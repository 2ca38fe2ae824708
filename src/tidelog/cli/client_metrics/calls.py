"""Client metrics subscriptions over the wire: list, read and change them."""

from collections.abc import Mapping, Sequence

from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, change_settings, read_settings
from tidelog.cli.direct.refusals import refusal

KEYS = ("metrics", "interval.ms", "match")
Settings = Mapping[str, str]


def read_subscriptions(cluster: DirectCluster, names: Sequence[str] | None = None) -> dict[str, Settings]:
    """All subscriptions, or those named that exist, each with its settings and their defaults."""
    from tidelog.wire.messages.list_config_resources import ListConfigResourcesRequest

    answer = cluster.ask(ListConfigResourcesRequest(resource_types=[Kind.CLIENT_METRICS]))
    if answer.error_code:
        raise refusal(answer.error_code, None, "The client metrics subscriptions cannot be listed")
    existing = sorted(
        resource.resource_name
        for resource in answer.config_resources
        if resource.resource_type == Kind.CLIENT_METRICS
    )
    wanted = [name for name in existing if names is None or name in names]
    found = read_settings(cluster, Kind.CLIENT_METRICS, wanted, KEYS)
    return {name: found.get(name, {}) for name in wanted}


def change_subscription(cluster: DirectCluster, name: str, settings: Mapping[str, str | None]) -> None:
    """None resets a setting; a subscription without any setting is gone."""
    change_settings(cluster, Kind.CLIENT_METRICS, {name: settings})
