"""Tidelog's own settings table for the commands: explanations, names for TAB, values as people write them."""

from collections.abc import Mapping
from typing import Any

from tidelog.base.config.setting import Scope, Setting, Unit, parse, render


def known_settings(kind: str) -> Mapping[str, Setting]:
    """By name: a `topic`'s, a `group`'s, a `broker`'s, or `any`."""
    from tidelog.base.broker_settings import BROKER_SETTINGS
    from tidelog.base.group_settings import GROUP_SETTINGS
    from tidelog.base.topic_settings import TOPIC_SETTINGS

    by_kind = {"topic": TOPIC_SETTINGS, "group": GROUP_SETTINGS, "broker": BROKER_SETTINGS}
    return by_kind.get(kind) or BROKER_SETTINGS | TOPIC_SETTINGS | GROUP_SETTINGS


def find_setting(kind: str, name: str) -> Setting | None:
    """As `known_settings`, also with a listener's prefix in front of it."""
    from tidelog.base.listener_settings import find_broker_setting

    setting = known_settings(kind).get(name)
    return find_broker_setting(name) if setting is None and kind in ("broker", "any") else setting


def human_values(kind: str, values: Mapping[str, str]) -> dict[str, str]:
    """`7d` and `1 GiB` in the numbers that the protocol carries; what we don't know goes as it is."""
    plain = {}
    for name, text in values.items():
        plain[name] = text
        setting = find_setting(kind, name)
        if setting is not None:
            try:
                plain[name] = render(setting, parse(setting, text, human=True)) or text
            except ValueError:
                continue  # the broker may know better; it has the last word either way
    return plain


def hide_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """As they may be shown: what is on a screen ends up in a log of it."""
    return {
        name: "(hidden)" if value is not None and _is_secret(name) else value
        for name, value in values.items()
    }


def _is_secret(name: str) -> bool:
    setting = find_setting("any", name)
    return setting is not None and setting.sensitive


def explained(name: str) -> list[dict[str, Any]]:
    """A page for each scope in which the name is a setting."""
    return [
        _page(setting, scope)
        for scope in ("broker", "topic", "group")
        if (setting := find_setting(scope, name)) is not None
    ]


def _page(setting: Setting, scope: str) -> dict[str, Any]:
    bounds = [
        text for text in (_bound("at least", setting.minimum), _bound("at most", setting.maximum)) if text
    ]
    return {
        "name": setting.name,
        "scope": scope,
        "doc": setting.doc,
        "type": setting.kind.value,
        "unit": setting.unit.value if setting.unit is not Unit.NONE else None,
        "default": render(setting, setting.default),
        "choices": list(setting.choices),
        "bounds": ", ".join(filter(None, bounds)),
        "special": setting.special,
        "changes": setting.dynamic.value if scope == "broker" else "at any time",
        "can_differ": None if setting.scope is Scope.BROKER else f"for {setting.scope.value}",
        "importance": setting.importance.value,
        "kafka_default": setting.kafka_default,
        "broker_setting": setting.broker_synonyms[0] if setting.broker_synonyms else None,
        "only_in_tidelog": "yes" if setting.ours else None,
    }


def _bound(word: str, value: float | None) -> str:
    return "" if value is None else f"{word} {value}"
