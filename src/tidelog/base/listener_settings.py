"""Settings of one listener: `listener.name.clients.ssl.client.auth`, as Kafka writes them (KIP-103).

A setting whose `scope` allows it can stand behind the name of a listener in lower case, and some also behind
a SASL mechanism: `listener.name.clients.scram-sha-256.sasl.jaas.config`. The value with the longest prefix
counts; without any, the plain setting does.
"""

import re
from typing import NamedTuple

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.config.error import unknown
from tidelog.base.config.setting import Dynamic, Scope, Setting
from tidelog.base.security_protocol import SASL_MECHANISMS

LISTENER_PREFIX = "listener.name."

_PREFIXED = re.compile(r"listener\.name\.([A-Za-z0-9_-]+)\.(.+)", re.DOTALL)
_MECHANISMS = tuple(mechanism.lower() for mechanism in SASL_MECHANISMS)


class ListenerSetting(NamedTuple):
    """The parts of a name with a prefix."""

    listener: str
    mechanism: str | None
    name: str


def find_broker_setting(name: str) -> Setting | None:
    """The setting behind a plain name or a name with a listener's prefix; None where there is none."""
    if not name.startswith(LISTENER_PREFIX):
        return BROKER_SETTINGS.get(name)
    parts = split_name(name)
    if parts is None or name != name.lower():
        return None
    setting = BROKER_SETTINGS.get(parts.name)
    if setting is None or not _may_stand_in(setting, parts):
        return None
    changes = Dynamic.PER_BROKER if setting.dynamic is Dynamic.PER_LISTENER else setting.dynamic
    return setting._replace(name=name, dynamic=changes)


def split_name(name: str) -> ListenerSetting | None:
    """None where the name has no prefix. The setting need not exist."""
    match = _PREFIXED.fullmatch(name)
    if match is None:
        return None
    listener, rest = match.groups()
    mechanism, _, plain = rest.partition(".")
    if mechanism.lower() in _MECHANISMS and plain:
        return ListenerSetting(listener, mechanism, plain)
    return ListenerSetting(listener, None, rest)


def name_for(name: str, listener: str, mechanism: str | None = None) -> str:
    """The setting's name for a listener: `listener.name.clients.ssl.client.auth`."""
    prefix = f"{LISTENER_PREFIX}{listener.lower()}."
    return f"{prefix}{name}" if mechanism is None else f"{prefix}{mechanism.lower()}.{name}"


def why_unknown(name: str, instead: str | None = None) -> str:
    """The reason to refuse a name that `find_broker_setting` does not know."""
    parts = split_name(name)
    if parts is None:
        if name.startswith(LISTENER_PREFIX):
            return "write listener.name.<listener>.<setting>, such as listener.name.clients.ssl.client.auth"
        return unknown(name, BROKER_SETTINGS, instead)
    setting = BROKER_SETTINGS.get(parts.name)
    if setting is None:
        mechanism, _, plain = parts.name.partition(".")
        if plain in BROKER_SETTINGS and BROKER_SETTINGS[plain].scope is Scope.MECHANISM:
            return f"{mechanism} is no SASL mechanism; there are {', '.join(_MECHANISMS)}"
        fitting = [known for known in BROKER_SETTINGS.values() if _may_stand_in(known, parts)]
        return unknown(name, [name_for(known.name, parts.listener, parts.mechanism) for known in fitting])
    if not _may_stand_in(setting, parts):
        if parts.mechanism is not None and setting.scope is Scope.LISTENER:
            return f"cannot differ between mechanisms; use {name_for(parts.name, parts.listener)}"
        return f"cannot differ between listeners; use {parts.name}"
    return f"no such setting; use {name.lower()}"  # names of listeners are in lower case here


def _may_stand_in(setting: Setting, parts: ListenerSetting) -> bool:
    if parts.mechanism is None:
        return setting.scope is not Scope.BROKER
    return setting.scope is Scope.MECHANISM
