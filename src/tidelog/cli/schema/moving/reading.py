"""All of a registry, or some subjects of it, with what their schemas refer to."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tidelog.cli.schema.moving.exported import (
    Exported,
    ExportedSubject,
    ExportedVersion,
    Place,
    references_of,
)
from tidelog.cli.schema.moving.own_versions import OwnVersions
from tidelog.registry.subjects import context_of, scope_of_context

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient

EVERY_CONTEXT = ":*:"


def read_registry(
    client: "RegistryClient",
    subjects: Iterable[str] = (),
    *,
    prefix: str | None = None,
    deleted: bool = False,
    progress: Callable[[int], None] = lambda _versions: None,
) -> Exported:
    """The given subjects; without any, all that begin with the prefix, with what their contexts are set to.
    `deleted`: soft-deleted ones too."""
    own = OwnVersions(client)
    wanted = list(subjects) or sorted(client.subjects(prefix=prefix or EVERY_CONTEXT, deleted=deleted))
    found: dict[str, dict[int, ExportedVersion]] = {}
    to_read = [
        Place(subject, version) for subject in wanted for version in own.numbers(subject, deleted=deleted)
    ]
    living = {subject: set(own.numbers_there(subject)) for subject in wanted} if deleted else {}
    count = 0
    while to_read:
        place = to_read.pop()
        versions = found.setdefault(place.subject, {})
        if place.version in versions:
            continue
        is_chosen = place.subject in wanted
        one = own.version(place, deleted=deleted or not is_chosen)
        is_deleted = deleted and is_chosen and place.version not in living[place.subject]
        versions[place.version] = ExportedVersion(place, one.id, one.schema, is_deleted)
        to_read += references_of(versions[place.version])
        count += 1
        progress(count)
    scopes = set() if subjects else {scope_of_context(context_of(subject)) for subject in found}
    return Exported(
        client.options.urls[0],
        (
            *(
                ExportedSubject(scope, (), client.config(scope), _mode(client, scope))
                for scope in sorted(filter(None, scopes - found.keys()))
            ),
            *(
                ExportedSubject(
                    subject,
                    tuple(versions[number] for number in sorted(versions)),
                    own.config(subject),
                    _mode(client, subject) if subject else None,
                )
                for subject, versions in sorted(found.items())
            ),
        ),
        client.config(),
        _mode(client),
    )


def _mode(client: "RegistryClient", subject: str | None = None) -> str | None:
    """None also where a registry has no modes, as Confluent's before 5.2; it has just named its versions."""
    from tidelog.blocking.registry.errors import RegistryRefused

    try:
        return client.mode(subject)
    except RegistryRefused as refusal:
        if refusal.is_other_path:
            return None
        raise
