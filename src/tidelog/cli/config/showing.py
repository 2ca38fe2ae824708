"""What `tidelog config` prints: settings with their sources, and what was changed."""

from collections.abc import Sequence
from typing import Any

from tidelog.cli.config.admin import ShownSetting
from tidelog.cli.config.table import hide_secrets
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json, print_table, say
from tidelog.cli.session import Session


def print_settings(
    session: Session,
    kind: str,
    found: Sequence[ShownSetting],
    names: Sequence[str],
    everything: bool,
    owner: str,
) -> None:
    attempt = kind if kind == "broker" else f"{kind} {owner.split(chr(39))[1]}"
    if names:
        by_name = {setting.name: setting for setting in found}
        for name in names:
            if name not in by_name:
                raise unknown_setting(name, by_name, f"tidelog config show {attempt} --all")
        found = [by_name[name] for name in names]
    elif not everything:
        found = [setting for setting in found if setting.source != "default" and _own(kind, setting)]
    if session.json:
        print_json([setting.as_json() for setting in found])
    elif found:
        print_table(
            ("Setting", "Value", "Source"),
            [
                (setting.name, "(hidden)" if setting.sensitive else setting.value, _source(setting))
                for setting in found
            ],
        )
    else:
        say(f"{owner} has no settings of its own. Every setting: [bold]--all[/]")


def _own(kind: str, setting: ShownSetting) -> bool:
    """The page of a topic or a group starts with what is set on it; what its broker says shows with --all."""
    return kind in ("broker", setting.source)


def _source(setting: ShownSetting) -> str:
    return (
        f"{setting.source}, read-only"
        if setting.read_only and setting.source != "default"
        else setting.source
    )


def say_changed(session: Session, owner: str, values: dict[str, Any]) -> None:
    values = hide_secrets(values)
    if session.json:
        print_json({"changed": values})
        return
    for name, value in values.items():
        print(f"{owner}: {name} is back to its default." if value is None else f"{owner}: {name}={value}")


def unknown_setting(name: str, known: Any, attempt: str) -> CliError:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return CliError(f"There is no setting '{name}'.{hint}", attempt=attempt, code=Exit.NOT_FOUND)
