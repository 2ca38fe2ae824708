"""Settings of topics, groups, brokers and subscriptions over our own codec: read, set, reset to defaults."""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from tidelog.blocking.addresses import Address
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal

SET, DELETE = 0, 1


class Kind(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


OWN_SOURCES = (1, 2, 8)  # set on the topic itself, on the broker itself, on the group itself


def read_settings(
    cluster: DirectCluster,
    kind: Kind,
    names: Iterable[str],
    keys: Sequence[str] | None,
    *,
    address: Address | None = None,
    own_only: bool = False,
) -> dict[str, dict[str, str]]:
    """Returns {resource: {setting: value}}, without settings that the resource does not have or show.

    `keys` of None: all settings.
    """
    from tidelog.wire.messages import describe_configs as wire

    request = wire.DescribeConfigsRequest(
        resources=[
            wire.DescribeConfigsResource(
                resource_type=kind,
                resource_name=name,
                configuration_keys=None if keys is None else list(keys),
            )
            for name in names
        ]
    )
    if not request.resources:
        return {}
    answer = (
        cluster.ask(request, at_least=1)
        if address is None
        else cluster.ask_broker(address, request, at_least=1)
    )
    return {
        result.resource_name: {
            entry.name: entry.value
            for entry in result.configs
            if entry.value is not None and (not own_only or entry.config_source in OWN_SOURCES)
        }
        for result in answer.results
        if not result.error_code
    }


def change_settings(
    cluster: DirectCluster,
    kind: Kind,
    changes: Mapping[str, Mapping[str, str | None]],
    *,
    address: Address | None = None,
) -> None:
    """Sets {resource: {setting: value, or None for the default}}; the broker '' stands for all brokers.

    A broker changes its own settings, at `address`.
    """
    from tidelog.wire.messages import incremental_alter_configs as wire

    resources = [
        wire.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                wire.AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
                for key, value in values.items()
            ],
        )
        for name, values in changes.items()
        if values
    ]
    if not resources:
        return
    request = wire.IncrementalAlterConfigsRequest(resources=resources)
    answer = cluster.ask(request) if address is None else cluster.ask_broker(address, request)
    for result in answer.responses:
        if result.error_code:
            named = f"Settings of {kind.name.lower().replace('_', ' ')} '{result.resource_name}'"
            raise refusal(
                result.error_code, result.error_message, named if result.resource_name else "All brokers"
            )
