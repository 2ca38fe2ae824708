"""Questions to the state that change nothing. Each raises RegistryError where there is nothing to find."""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from tidelog.registry import config as settings
from tidelog.registry import subjects
from tidelog.registry.compatibility import DEFAULT_LEVEL
from tidelog.registry.config import Config
from tidelog.registry.content import content_of_guid
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.mode import Mode
from tidelog.registry.state import refusals
from tidelog.registry.state.records import INT_MAX
from tidelog.registry.state.state import ContextState, RegistryState
from tidelog.registry.state.stored import Place, StoredVersion

LATEST = -1


class Which(Enum):
    """Which versions count."""

    LIVE = 0
    ALL = 1
    DELETED = 2
    """Soft-deleted ones alone; of subjects, those without a live version."""


def checked_version(given: str) -> int:
    """Returns the version that a path names: a number, or LATEST."""
    if given in ("latest", "-1"):
        return LATEST
    if not (
        given.isascii() and given.isdigit() and len(given) <= len(str(INT_MAX)) and 1 <= int(given) <= INT_MAX
    ):
        raise RegistryError(
            RegistryCode.INVALID_VERSION,
            f"The specified version '{given[:50]}' is not a valid version id. "
            'Allowed values are between [1, 2^31-1] and the string "latest"',
        )
    return int(given)


# Subjects and versions


def subject_names(
    state: RegistryState, prefix: str = subjects.ALL_CONTEXTS, which: Which = Which.LIVE
) -> list[str]:
    """Returns subjects in order. A prefix without a context asks for those of the default context."""
    return sorted(filter(subject_filter(state, prefix, which), state.subjects))


def subject_filter(state: RegistryState, prefix: str, which: Which) -> Callable[[str], bool]:
    """Returns whether a name is one of `subject_names`, for lists that are walked in several turns."""
    has_prefix = prefix_filter(prefix)

    def is_meant(subject: str) -> bool:
        versions = state.subjects.get(subject)
        return has_prefix(subject) and versions is not None and _has(versions.values(), which)

    return is_meant


def prefix_filter(prefix: str) -> Callable[[str], bool]:
    """Returns whether a name begins as it is asked for."""
    if not prefix.startswith(subjects.ALL_CONTEXTS):
        return lambda subject: _has_prefix(subject, prefix)
    bare = prefix.removeprefix(subjects.ALL_CONTEXTS)
    return lambda subject: not bare or subjects.split(subject).name.startswith(bare)


def latest(state: RegistryState, subject: str) -> StoredVersion | None:
    """Returns the newest version that is not deleted."""
    for stored in reversed(state.subjects.get(subject, {}).values()):
        if not stored.deleted:
            return stored
    return None


def versions_of(state: RegistryState, subject: str, which: Which = Which.LIVE) -> list[StoredVersion]:
    """Returns versions in order; RegistryError where there are none of these."""
    found = [one for one in state.subjects.get(subject, {}).values() if counts(one, which)]
    if not found:
        raise refusals.subject_not_found(subject)
    return found


def version_of(state: RegistryState, subject: str, version: int, *, deleted: bool = False) -> StoredVersion:
    """`deleted`: also a soft-deleted version. The latest is always one that is not deleted."""
    found = find_version(state, subject, version, deleted=deleted)
    if found is None:
        versions = state.subjects.get(subject)
        if not versions or not (deleted or _has(versions.values(), Which.LIVE)):
            raise refusals.subject_not_found(subject)
        raise refusals.version_not_found(version)
    return found


def find_version(
    state: RegistryState, subject: str, version: int, *, deleted: bool = False
) -> StoredVersion | None:
    if version == LATEST:
        return latest(state, subject)
    stored = state.subjects.get(subject, {}).get(version)
    return None if stored is None or (stored.deleted and not deleted) else stored


def elsewhere(state: RegistryState, subject: str) -> Iterator[str]:
    """Yields the subject's name in the other contexts, in order, for a subject of the default context.

    As Confluent's registry, this one looks there for what the default context does not have: clients ask for
    references as a schema has them, without its context.
    """
    name = subjects.split(subject)
    if name.context == subjects.DEFAULT_CONTEXT and name.name:
        for context in sorted(state.contexts):
            if context != subjects.DEFAULT_CONTEXT:
                yield str(subjects.SubjectName(context, name.name))


def referring(state: RegistryState, place: Place, *, deleted: bool = False) -> list[StoredVersion]:
    """Returns the versions that refer to this one."""
    found = (state.stored(referrer) for referrer in sorted(state.referrers.get(place, ())))
    return [one for one in found if one is not None and (deleted or not one.deleted)]


# Ids


def by_id(state: RegistryState, schema_id: int, subject: str = "") -> StoredVersion:
    """Returns a version with the id, soft-deleted or not.

    `subject` says in which context: `:.staging:` or a subject of it. A subject of the default context that
    does not have the id is looked for in the other contexts, and counts for the default context at last.
    """
    name = subjects.split(subject)
    found = _with_id(state.contexts.get(name.context), schema_id, subject if name.name else "")
    if found is None and name.name and name.context == subjects.DEFAULT_CONTEXT:
        for other in elsewhere(state, subject):
            found = found or _with_id(state.context(other), schema_id, other)
        found = found or _with_id(state.contexts.get(name.context), schema_id, "")
    if found is None:
        raise refusals.schema_not_found(schema_id)
    return found


def places_of(state: RegistryState, stored: StoredVersion, *, deleted: bool = False) -> list[StoredVersion]:
    """Returns all versions with the same id, in order."""
    context = state.context(stored.subject)
    places = {} if context is None else context.by_id.get(stored.id, {})
    return [one for _, one in sorted(places.items()) if deleted or not one.deleted]


def ids_of_guid(state: RegistryState, guid: str) -> list[tuple[str, int]]:
    """Returns the contexts that know a content, each with its id; the default context first."""
    content = content_of_guid(guid)
    found = [
        (context, ids.ids_of[content][0])
        for context, ids in sorted(state.contexts.items())
        if content is not None and content in ids.ids_of
    ]
    if not found:
        raise refusals.schema_not_found(guid)
    return found


# Configurations and modes


def config_in_scope(state: RegistryState, scope: str | None) -> Config:
    """Returns what holds for a subject, a context or everything, with a level in any case."""
    default = {settings.LEVEL: str(DEFAULT_LEVEL)}
    own = state.configs.get(scope)
    if own is None:
        return {**default, **next((state.configs[one] for one in _wider(scope) if one in state.configs), {})}
    return {**default, **state.configs.get(None, {}), **own}


def mode_in_scope(state: RegistryState, scope: str | None) -> Mode:
    for one in (scope, *_wider(scope)):
        if one in state.modes:
            return state.modes[one]
    return Mode.READWRITE


def resolved_alias(state: RegistryState, subject: str) -> str:
    """Returns the subject that another is an alias of, or the subject itself."""
    alias = state.configs.get(subject, {}).get(settings.ALIAS)
    return subjects.qualified(alias, subject) if isinstance(alias, str) and alias else subject


def context_names(state: RegistryState) -> list[str]:
    return [subjects.DEFAULT_CONTEXT, *sorted(state.named_contexts - {subjects.DEFAULT_CONTEXT})]


def _wider(scope: str | None) -> Iterator[str | None]:
    if scope is not None:
        yield subjects.scope_of_context(subjects.context_of(scope))
    yield subjects.GLOBAL_SCOPE


def _with_id(context: ContextState | None, schema_id: int, subject: str) -> StoredVersion | None:
    for place, stored in (context.by_id.get(schema_id, {}) if context is not None else {}).items():
        if not subject or place.subject == subject:
            return stored
    return None


def _has_prefix(subject: str, prefix: str) -> bool:
    return subject.startswith(prefix) and (bool(prefix) or not subject.startswith(":."))


def _has(versions: Iterable[StoredVersion], which: Which) -> bool:
    if which is Which.ALL:
        return True
    for one in versions:
        if not one.deleted:
            return which is Which.LIVE
    return which is Which.DELETED


def counts(stored: StoredVersion, which: Which) -> bool:
    """Whether a version is among those that are asked for."""
    return which is Which.ALL or stored.deleted == (which is Which.DELETED)
