"""Decides on AlterConfigs, which replaces all settings of a resource, and on IncrementalAlterConfigs.

Resources are topics, groups, client metrics subscriptions, brokers, and the default of all brokers (a broker
with an empty name).
Each succeeds or fails for itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.base.listener_settings import find_broker_setting
from tidelog.metadata.configs.edits import ConfigEdit, check_edits, edited
from tidelog.metadata.configs.min_insync import after_min_insync_changed, check_min_insync
from tidelog.metadata.configs.rules import (
    check_broker_configs,
    check_broker_layers,
    check_broker_values,
    check_client_metrics_configs,
    check_group_configs,
    check_topic_configs,
)
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.entities import CLUSTER_DEFAULT, ConfigResource
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import ConfigChanged, Record, ResourceKind
from tidelog.metadata.leaders.election_rules import MIN_INSYNC_SETTING
from tidelog.metadata.topics.names import why_illegal

RESOURCE_KINDS = {
    2: ResourceKind.TOPIC,
    4: ResourceKind.BROKER,
    16: ResourceKind.CLIENT_METRICS,
    32: ResourceKind.GROUP,
}
"""By the number that the protocol gives them; the other kinds have no settings here."""


GROUP_ID_CHARS_MAX = 8191
"""As long as a group's id may be where the group itself is stored."""
SUBSCRIPTION_NAME_CHARS_MAX = 249
SUBSCRIPTIONS_MAX = 1_000
"""Each client that asks is matched with every subscription."""


class ConfigAlteration(msgspec.Struct, frozen=True):
    """The edits of a request for one resource. AlterConfigs sends only edits that set a value."""

    resource_type: int  # as on the wire
    resource_name: str
    edits: Sequence[ConfigEdit]


class AlteredConfig(ItemResult, frozen=True, kw_only=True):
    resource_type: int
    resource_name: str


def decide_alter_configs(
    image: ClusterImage,
    alterations: Sequence[ConfigAlteration],
    *,
    node_id: NodeId,
    config: BrokerConfig,
    validate_only: bool = False,
) -> Decision[AlteredConfig]:
    """The settings named are all that a resource has afterwards. `config` is the broker's as of now."""
    decider = _Decider(image, node_id, config)
    decision = decider.decide(alterations, lambda _, edits: {edit.key: edit.value or "" for edit in edits})
    return Decision([], decision.results) if validate_only else decision


def decide_incremental_alter_configs(
    image: ClusterImage,
    alterations: Sequence[ConfigAlteration],
    *,
    node_id: NodeId,
    config: BrokerConfig,
    validate_only: bool = False,
) -> Decision[AlteredConfig]:
    """Each edit changes one setting; the others stay. `config` is the broker's as of now."""
    decider = _Decider(image, node_id, config)
    decision = decider.decide(
        alterations, lambda resource, edits: edited(resource.kind, image.configs(resource), edits, config)
    )
    return Decision([], decision.results) if validate_only else decision


Change = Callable[[ConfigResource, Sequence[ConfigEdit]], dict[str, str]]


class _Decider:
    """Goes through the resources of one request."""

    def __init__(self, image: ClusterImage, node_id: NodeId, config: BrokerConfig) -> None:
        self._image = image
        self._config = config
        self._this_broker = ConfigResource(ResourceKind.BROKER, str(node_id))
        # As this request leaves them: what it sets for the cluster and for a broker must fit together.
        self._layers: dict[ConfigResource, Mapping[str, str]] = {}
        self._subscriptions = set(image.client_metrics)  # with those that this request creates

    def decide(self, alterations: Sequence[ConfigAlteration], change: Change) -> Decision[AlteredConfig]:
        times = Counter((item.resource_type, item.resource_name) for item in alterations)
        records: list[Record] = []
        results: list[AlteredConfig] = []
        for item in alterations:
            kind, name = item.resource_type, item.resource_name
            try:
                if times[kind, name] > 1:
                    raise _bad_request("Each resource must appear at most once.")
                check_edits(item.edits)
                resource = self._resource(kind, name)
                after = change(resource, item.edits)
                if self._image.has_elr and resource == CLUSTER_DEFAULT and not _names_min_insync(item.edits):
                    after = _with_min_insync(self._image, after)
                self._check(resource, after, item.edits)
            except KafkaError as error:
                results.append(AlteredConfig.refused(error, resource_type=kind, resource_name=name))
                continue
            records.extend(_difference(resource, self._image.configs(resource), after))
            results.append(AlteredConfig(resource_type=kind, resource_name=name))
        records.extend(after_min_insync_changed(self._image, records, self._config))
        return Decision(records, results)

    def _resource(self, resource_type: int, name: str) -> ConfigResource:
        kind = RESOURCE_KINDS.get(resource_type)
        if kind is None:
            raise _bad_request(f"Unknown resource type {resource_type}")
        if kind is ResourceKind.BROKER:
            return self._broker(name)
        if kind is ResourceKind.GROUP:
            return _group(name)
        if kind is ResourceKind.CLIENT_METRICS:
            return self._client_metrics(name)
        if not name:
            raise _bad_request("Default topic resources are not allowed.")
        if reason := why_illegal(name):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        if name not in self._image.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return ConfigResource(kind, name)

    def _client_metrics(self, name: str) -> ConfigResource:
        """A subscription begins with its first setting; there may be only so many."""
        if not name:
            raise _bad_request("Subscription name can't be empty")
        if len(name) > SUBSCRIPTION_NAME_CHARS_MAX:
            raise _bad_request(
                f"The subscription's name has {len(name)} characters, at most {SUBSCRIPTION_NAME_CHARS_MAX} "
                "are allowed."
            )
        known = self._subscriptions
        if name not in known and len(known) >= SUBSCRIPTIONS_MAX:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"There are {len(known)} client metrics subscriptions, which is the limit. Delete one first.",
            )
        known.add(name)
        return ConfigResource(ResourceKind.CLIENT_METRICS, name)

    def _broker(self, name: str) -> ConfigResource:
        if not name:
            return CLUSTER_DEFAULT
        if not (name.isascii() and name.removeprefix("-").isdecimal()):
            raise _bad_request(f"Node id must be an integer, but it is: {name}")
        known = {self._this_broker.name, *map(str, self._image.brokers)}
        if name not in known:
            raise _bad_request(f"No broker with id {name} is registered.")
        return ConfigResource(ResourceKind.BROKER, name)

    def _check(self, resource: ConfigResource, after: Mapping[str, str], edits: Sequence[ConfigEdit]) -> None:
        before = self._image.configs(resource)
        # What is stored already may always be deleted, even if this version knows no such setting.
        changed = {edit.key for edit in edits if edit.key in after or edit.key not in before}
        if resource.kind is ResourceKind.TOPIC:
            check_topic_configs(resource.name, after, changed, self._config)
            return
        if resource.kind is ResourceKind.GROUP:
            check_group_configs(after, changed, self._config)
            return
        if resource.kind is ResourceKind.CLIENT_METRICS:
            check_client_metrics_configs(after, changed)
            return
        # Kafka's tools clear limits after their work, some of a kind that does not exist here.
        changed = {key for key in changed if key in after or find_broker_setting(key)}
        check_min_insync(self._image, resource, after, [edit.key for edit in edits])
        check_broker_configs(changed, of_cluster=resource == CLUSTER_DEFAULT)
        check_broker_values(after, changed)
        # The static settings of another broker are unknown here; that broker reports a conflict when it
        # starts.
        broker = self._this_broker if resource == CLUSTER_DEFAULT else resource
        layers = {**self._layers, resource: after}
        check_broker_layers(
            self._config,
            before=(self._layer(self._layers, CLUSTER_DEFAULT), self._layer(self._layers, broker)),
            after=(self._layer(layers, CLUSTER_DEFAULT), self._layer(layers, broker)),
        )
        self._layers = layers

    def _layer(
        self, layers: Mapping[ConfigResource, Mapping[str, str]], resource: ConfigResource
    ) -> Mapping[str, str]:
        return layers[resource] if resource in layers else self._image.configs(resource)


def _group(name: str) -> ConfigResource:
    """The group need not exist: its settings may come before its first member, and stay after its last."""
    if not name:
        raise _bad_request("Default group resources are not allowed.")
    if len(name) > GROUP_ID_CHARS_MAX:
        raise _bad_request(
            f"The group id has {len(name)} characters, at most {GROUP_ID_CHARS_MAX} are allowed."
        )
    return ConfigResource(ResourceKind.GROUP, name)


def _names_min_insync(edits: Sequence[ConfigEdit]) -> bool:
    return any(edit.key == MIN_INSYNC_SETTING for edit in edits)


def _with_min_insync(image: ClusterImage, after: Mapping[str, str]) -> dict[str, str]:
    """AlterConfigs replaces all settings; a setting that the cluster requires stays if the request
    omits it."""
    known = image.configs(CLUSTER_DEFAULT).get(MIN_INSYNC_SETTING)
    return {**after} if known is None else {**after, MIN_INSYNC_SETTING: known}


def _difference(
    resource: ConfigResource, before: Mapping[str, str], after: Mapping[str, str]
) -> list[ConfigChanged]:
    keys = [*after, *(key for key in before if key not in after)]
    return [
        ConfigChanged(*resource, key, after.get(key)) for key in keys if before.get(key) != after.get(key)
    ]


def _bad_request(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
