"""One edit of one setting, as IncrementalAlterConfigs brings it: set, delete, or change a list."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum

import msgspec

from tidelog.base.client_metrics_settings import CLIENT_METRICS_SETTINGS
from tidelog.base.config.config import BrokerConfig
from tidelog.base.config.setting import Kind, Setting, Value, render
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.group_settings import GROUP_SETTINGS
from tidelog.base.listener_settings import find_broker_setting, split_name
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tidelog.metadata.image.records import ResourceKind

FIND_SETTING: dict[ResourceKind, Callable[[str], Setting | None]] = {
    ResourceKind.TOPIC: TOPIC_SETTINGS.get,
    ResourceKind.BROKER: find_broker_setting,
    ResourceKind.GROUP: GROUP_SETTINGS.get,
    ResourceKind.CLIENT_METRICS: CLIENT_METRICS_SETTINGS.get,
}


class ConfigOp(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2  # to a list, what it does not hold yet
    SUBTRACT = 3  # from a list


class ConfigEdit(msgspec.Struct, frozen=True):
    key: str
    value: str | None
    op: int = ConfigOp.SET  # any number a client sends; an unknown one is refused


def check_edits(edits: Sequence[ConfigEdit]) -> None:
    """What is wrong with a list of edits whatever they apply to."""
    if len({edit.key for edit in edits}) < len(edits):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    strange = [edit.op for edit in edits if edit.op not in set(ConfigOp)]
    if strange:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {strange[0]}")
    empty = [edit.key for edit in edits if edit.value is None and edit.op != ConfigOp.DELETE]
    if empty:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(empty)}")


def edited(
    kind: ResourceKind, before: Mapping[str, str], edits: Sequence[ConfigEdit], config: BrokerConfig
) -> dict[str, str]:
    """The settings after the edits; those not named stay."""
    after = dict(before)
    for edit in edits:
        if edit.op == ConfigOp.DELETE:
            after.pop(edit.key, None)
        elif edit.op == ConfigOp.SET:
            after[edit.key] = edit.value or ""
        else:
            after[edit.key] = _edited_list(kind, before.get(edit.key), edit, config)
    return after


def _edited_list(kind: ResourceKind, override: str | None, edit: ConfigEdit, config: BrokerConfig) -> str:
    items = _items_now(kind, override, edit, config)
    named = [item.strip() for item in (edit.value or "").split(",")]
    if edit.op == ConfigOp.APPEND:
        return ",".join(dict.fromkeys([*items, *named]))
    return ",".join(item for item in items if item not in named)


def _items_now(kind: ResourceKind, override: str | None, edit: ConfigEdit, config: BrokerConfig) -> list[str]:
    """The items of a list setting: the resource's own value, or the inherited one."""
    setting = FIND_SETTING[kind](edit.key)
    if setting is None:
        return []  # the check of names, which follows, refuses it in better words
    if setting.kind is not Kind.LIST:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"Can't {ConfigOp(edit.op).name} to key {edit.key} because its type is not LIST.",
        )
    if override is None:
        override = render(setting, _without_override(kind, setting, config)) or ""
    return [item.strip() for item in override.split(",") if item.strip()]


def _without_override(kind: ResourceKind, setting: Setting, config: BrokerConfig) -> Value:
    if kind is ResourceKind.CLIENT_METRICS:
        return setting.default
    return (
        config.topic_defaults[setting.name]
        if kind is ResourceKind.TOPIC
        else _inherited(setting.name, config)
    )


def _inherited(key: str, config: BrokerConfig) -> Value:
    """A listener without a value of its own follows the plain setting."""
    parts = split_name(key)
    return config.given(key if parts is None or key in config else parts.name)
