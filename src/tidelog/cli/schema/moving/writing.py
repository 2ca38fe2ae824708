"""An import at work: subjects in mode IMPORT take versions with their ids, then have their own mode again."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tidelog.cli.schema.moving.exported import Exported
from tidelog.cli.schema.moving.plan import ImportPlan, subjects_of

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient

IMPORT = "IMPORT"


def carry_out(
    client: "RegistryClient",
    exported: Exported,
    plan: ImportPlan,
    progress: Callable[[int], None] = lambda _versions: None,
) -> None:
    """A run that was interrupted is completed by the next one: what is there already is left as it is."""
    wanted = {subject.name: subject.mode for subject in exported.subjects}
    with import_mode(client, plan, wanted):
        for count, one in enumerate(plan.to_register, start=1):
            client.register(one.place.subject, one.schema, id=one.id, version=one.place.version)
            progress(count)
    for one in plan.to_register:
        if one.is_deleted:
            client.delete_version(one.place.subject, one.place.version)


@contextmanager
def import_mode(
    client: "RegistryClient", plan: ImportPlan, wanted: Mapping[str, str | None]
) -> Iterator[None]:
    """For the subjects that get versions. Afterwards they have the mode that they had at the source."""
    changed: list[tuple[str, str | None]] = []
    try:
        for subject in subjects_of(plan):
            if client.mode(subject, default_to_global=True) == IMPORT and client.mode(subject) is None:
                continue
            changed.append((subject, client.mode(subject)))
            client.set_mode(subject, IMPORT, force=subject in plan.occupied)
        yield
    finally:
        for subject, before in changed:
            # A subject in mode IMPORT was left so by a run that was killed.
            after = wanted.get(subject) or (before if before != IMPORT else None)
            if after is None or after == IMPORT:
                client.delete_mode(subject)
            else:
                client.set_mode(subject, after, force=True)


def set_configs(client: "RegistryClient", exported: Exported, *, with_global: bool) -> list[str]:
    """Returns the subjects whose config changed; `(global)` for that of all."""
    changed = []
    wanted: list[tuple[str | None, Mapping[str, Any] | None]] = [
        (subject.name, subject.config) for subject in exported.subjects
    ]
    if with_global:
        wanted.insert(0, (None, exported.config))
    for subject, config in wanted:
        if config and config != client.config(subject):
            client.set_config(subject, _body(config))
            changed.append(subject or "(global)")
    return changed


def _body(config: Mapping[str, Any]) -> dict[str, Any]:
    """A registry answers with `compatibilityLevel`, and takes `compatibility`."""
    return {
        "compatibility" if name == "compatibilityLevel" else name: value for name, value in config.items()
    }
