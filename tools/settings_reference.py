"""Writes docs/reference/…-settings.md from the settings tables; `--check` only compares.

python -m tools.settings_reference
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from tidelog.base import units
from tidelog.base.broker_settings import BROKER_THEMES
from tidelog.base.client_metrics_settings import CLIENT_METRICS_SETTINGS
from tidelog.base.config.environment import env_name
from tidelog.base.config.setting import LONG_MAX, MS_PER, Dynamic, Kind, Scope, Setting, Unit, Value, render
from tidelog.base.group_settings import GROUP_LIMITS, GROUP_SETTINGS, Limits
from tidelog.base.topic_settings import TOPIC_SETTINGS
from tools.pages import run

DOCS = Path(__file__).resolve().parent.parent / "docs" / "reference"

GENERATED = "<!-- Written by tools/settings_reference.py from the settings tables; change those. -->\n\n"

BROKER_HEAD = """# Broker settings

Give a setting in the file (`tidelog up --config config/broker.yaml`), in the environment, or as a flag
(`--set name=value`). A flag beats the environment, and the environment beats the file. Sizes and
durations may be written as `1 GiB` and `7d`. An unknown name or a bad value stops the start, with its
place and the nearest right name.

The names, meanings and defaults are Kafka's, except where a setting says otherwise. A setting that can
change while the broker runs does so with `tidelog config` or any Kafka admin client, in plain numbers:
*cluster-wide* as a default for all brokers or for one of them, *per-broker* for one broker only.

Some settings can be given for one listener, behind its name in lower case:
`listener.name.clients.ssl.client.auth` is that of the listener CLIENTS, and `ssl.client.auth` that of the
others. A few can differ between the SASL mechanisms of a listener:
`listener.name.clients.scram-sha-256.sasl.jaas.config`. In the environment they are
`TIDELOG_LISTENER_NAME_CLIENTS_SSL_CLIENT_AUTH` and so on. `_FILE` behind a variable names a file that
holds the value ([containers](../containers.md)).
"""

TOPIC_HEAD = """# Topic settings

Give a setting when a topic is created, or change it later with `tidelog config` or any Kafka admin
client, in plain numbers. A topic without a value of its own follows the
[broker settings](broker-settings.md) that are named with it: the first of them that is set. All of them
can change while the topic is used.
"""


GROUP_HEAD = """# Group settings

Give a group settings of its own with `tidelog config set group NAME`, or in plain numbers with any Kafka
admin client (`kafka-configs --entity-type groups`). The group need not exist yet. A group without a value of
its own follows the [broker setting](broker-settings.md) that is named with it. A change of timeouts and
intervals counts from each member's next heartbeat, a change of how a [queue](../queues.md) delivers from the
next request.

The limits hold for every group: where they move later, a stored value beyond a limit counts as the limit.
"""

CLIENT_METRICS_HEAD = """# Settings of client metrics subscriptions

A subscription says which clients push which of their own metrics, and how often: see
[client metrics](../client-metrics.md). Set one with `tidelog client-metrics set`, `kafka-client-metrics`, or
any Kafka admin client (`CLIENT_METRICS` resources). It exists from its first setting to its last.
"""


def broker_page() -> str:
    parts = [GENERATED, BROKER_HEAD]
    for theme, settings in BROKER_THEMES.items():
        parts.append(f"\n## {theme}\n")
        for setting in settings:
            parts.append(_section(setting, [*_facts(setting), *_broker_facts(setting)]))
    return "".join(parts)


def topic_page() -> str:
    parts = [GENERATED, TOPIC_HEAD]
    for setting in TOPIC_SETTINGS.values():
        facts = _facts(setting)
        if setting.broker_synonyms:
            facts.append("without it: " + ", ".join(_link(name) for name in setting.broker_synonyms))
        parts.append(_section(setting, facts))
    return "".join(parts)


def group_page() -> str:
    parts = [GENERATED, GROUP_HEAD]
    for setting in GROUP_SETTINGS.values():
        facts = _facts(setting)
        if setting.broker_synonyms:
            facts.append(f"without it: {_link(setting.broker_synonyms[0])}")
        limits = GROUP_LIMITS.get(setting.name, Limits())
        facts += [f"at least: {_link(limits.least)}"] if limits.least else []
        facts += [f"at most: {_link(limits.most)}"] if limits.most else []
        parts.append(_section(setting, facts))
    return "".join(parts)


def client_metrics_page() -> str:
    sections = [_section(setting, _facts(setting)) for setting in CLIENT_METRICS_SETTINGS.values()]
    return "".join([GENERATED, CLIENT_METRICS_HEAD, *sections])


def _section(setting: Setting, facts: Iterable[str]) -> str:
    listed = "".join(f"- {fact}\n" for fact in facts)
    return f"\n### `{setting.name}`\n\n{setting.doc}\n\n{listed}"


def _facts(setting: Setting) -> list[str]:
    facts = [f"type: {_type(setting)}", f"default: {_shown(setting, setting.default)}"]
    if setting.kafka_default is not None:
        facts[-1] += f" (Kafka's: {setting.kafka_default})"
    if allowed := _allowed(setting):
        facts.append(f"allowed: {allowed}")
    if setting.special:
        facts.append(setting.special)
    if setting.ours:
        facts.append("Tidelog's own: Kafka has no such setting")
    return facts


def _broker_facts(setting: Setting) -> list[str]:
    changes = "no" if setting.dynamic is Dynamic.READ_ONLY else setting.dynamic.value
    facts = [f"can change while the broker runs: {changes}", f"environment: `{env_name(setting.name)}`"]
    if setting.scope is not Scope.BROKER:
        facts.append(f"can be given for: {setting.scope.value}")
    return facts


def _type(setting: Setting) -> str:
    if setting.kind is Kind.ENUM:
        return Kind.STRING.value
    return (
        f"{setting.kind.value}, {setting.unit.value}" if setting.unit is not Unit.NONE else setting.kind.value
    )


def _allowed(setting: Setting) -> str:
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    if setting.minimum is not None and setting.maximum is not None:
        return f"{setting.minimum} to {setting.maximum}"
    return "" if setting.minimum is None else f"{setting.minimum} or more"


def _shown(setting: Setting, value: Value) -> str:
    text = render(setting, value)
    if text is None:
        return "not set"
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LONG_MAX:
        human = ""
        if setting.unit is Unit.BYTES:
            human = units.show_bytes(value)
        elif setting.unit in MS_PER:
            human = units.show_milliseconds(value * MS_PER[setting.unit])
        if human:
            return f"`{text}` ({human})"
    return f"`{text}`"


def _link(broker_setting: str) -> str:
    anchor = broker_setting.replace(".", "")
    return f"[`{broker_setting}`](broker-settings.md#{anchor})"


PAGES = {
    DOCS / "broker-settings.md": broker_page,
    DOCS / "topic-settings.md": topic_page,
    DOCS / "group-settings.md": group_page,
    DOCS / "client-metrics-settings.md": client_metrics_page,
}


if __name__ == "__main__":
    sys.exit(run(PAGES, sys.argv[1:]))
