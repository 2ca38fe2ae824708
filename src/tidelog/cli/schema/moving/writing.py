"""An import at work: subjects in mode IMPORT take versions with their ids, then have the source's mode."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tidelog.base.errors import TidelogError
from tidelog.cli.schema.moving.exported import Exported
from tidelog.cli.schema.moving.plan import ImportPlan, subjects_of

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient

IMPORT, READWRITE = "IMPORT", "READWRITE"
GLOBAL = "(global)"


class ConfigChange(NamedTuple):
    subject: str | None
    """None: of all subjects."""
    config: Mapping[str, Any]


def carry_out(
    client: "RegistryClient",
    exported: Exported,
    plan: ImportPlan,
    progress: Callable[[int], None] = lambda _versions: None,
    *,
    with_configs: bool = False,
    with_global: bool = False,
) -> list[str]:
    """Returns the subjects whose config changed; `(global)` for that of all.

    A run that was interrupted is completed by the next one: what is there already is left as it is.
    """
    configs = list(_config_changes(client, exported, with_global=with_global)) if with_configs else []
    written = [one.place.subject for one in plan.to_delete] + [one.subject for one in configs if one.subject]
    with _writable(client, exported, plan, written):
        for count, one in enumerate(plan.to_register, start=1):
            client.register(one.place.subject, one.schema, id=one.id, version=one.place.version)
            progress(count)
        for one in reversed(plan.to_delete):  # a version that others refer to goes after them
            client.delete_version(one.place.subject, one.place.version)
        for subject, config in configs:
            client.set_config(subject, _body(config))
    return [one.subject or GLOBAL for one in configs]


@contextmanager
def _writable(
    client: "RegistryClient", exported: Exported, plan: ImportPlan, written: Iterable[str]
) -> Iterator[None]:
    """For the subjects that get versions, and for others that are written. Afterwards they have the mode that
    they had at the source."""
    wanted = {subject.name: subject.mode for subject in exported.subjects}
    changed: list[tuple[str, str | None]] = []
    try:
        for subject, before, mode in _modes_needed(client, exported, plan, set(written)):
            changed.append((subject, before))
            client.set_mode(subject, mode, force=subject in plan.occupied)
        yield
    except BaseException:
        for subject, before in changed:
            with suppress(TidelogError):  # the first error says what is wrong
                _restore(client, subject, wanted.get(subject), before)
        raise
    for subject, before in changed:
        _restore(client, subject, wanted.get(subject), before)


def _restore(client: "RegistryClient", subject: str, wanted: str | None, before: str | None) -> None:
    after = wanted or (before if before != IMPORT else None)
    if after is None or after == IMPORT:
        client.delete_mode(subject)
    else:
        client.set_mode(subject, after, force=True)


def _modes_needed(
    client: "RegistryClient", exported: Exported, plan: ImportPlan, written: set[str]
) -> Iterator[tuple[str, str | None, str]]:
    """Yields subjects that need another mode: the subject, its own mode as it is, and the other one."""
    registered = set(subjects_of(plan))
    for subject in exported.subjects:
        name, own = subject.name, client.mode(subject.name)
        if name in registered:
            if own is not None or _in_scope(client, name) != IMPORT:
                yield name, own, IMPORT
            continue
        was_killed = own == IMPORT and bool(subject.versions)  # a run that left its mode behind
        if was_killed or (
            name in written and (own or _in_scope(client, name)) not in (None, IMPORT, READWRITE)
        ):
            yield name, own, READWRITE


def _in_scope(client: "RegistryClient", subject: str) -> str | None:
    return client.mode(subject, default_to_global=True)


def _config_changes(
    client: "RegistryClient", exported: Exported, *, with_global: bool
) -> Iterator[ConfigChange]:
    if with_global and exported.config and exported.config != client.config():
        yield ConfigChange(None, exported.config)
    for subject in exported.subjects:
        if subject.config and subject.config != client.config(subject.name):
            yield ConfigChange(subject.name, subject.config)


def _body(config: Mapping[str, Any]) -> dict[str, Any]:
    """A registry answers with `compatibilityLevel`, and takes `compatibility`."""
    return {
        "compatibility" if name == "compatibilityLevel" else name: value for name, value in config.items()
    }
