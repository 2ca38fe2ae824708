"""Decides on deletions: soft first, which hides a version, then hard, which forgets it.

A version that another schema refers to is not deleted: not softly while the other is live, not for good
while it exists at all.
"""

from tidelog.registry import subjects
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.state import refusals
from tidelog.registry.state.decided import Decided, gone_for_good, settings_gone, tombstones
from tidelog.registry.state.lookups import LATEST, latest, mode_in_scope, referring
from tidelog.registry.state.records import TENANT, ContextKey, delete_subject_record, schema_record
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import Place, StoredVersion


def delete_version(state: RegistryState, subject: str, version: int, *, permanent: bool) -> Decided[int]:
    """Returns the version that was meant."""
    stored = _to_delete(state, subject, version)
    if stored.deleted and not permanent:
        raise refusals.version_soft_deleted(subject, stored.version)
    check_writable(state, subject)
    if referring(state, stored.place, deleted=permanent):
        raise refusals.referenced(*stored.place)
    if not permanent:
        return Decided(stored.version, (schema_record(stored, deleted=True),))
    if not stored.deleted:
        raise refusals.version_not_soft_deleted(subject, stored.version)
    is_last = len(state.subjects[subject]) == 1
    settings = settings_gone(state, subject) if is_last else []
    return Decided(stored.version, (*gone_for_good(state, [stored.place]), *settings))


def delete_subject(state: RegistryState, subject: str, *, permanent: bool) -> Decided[list[int]]:
    """Returns the versions that were deleted."""
    versions = state.subjects.get(subject)
    if not versions:
        raise refusals.subject_not_found(subject)
    if not permanent and latest(state, subject) is None:
        raise refusals.subject_soft_deleted(subject)
    check_writable(state, subject)
    deleted = [one for one in versions.values() if permanent or not one.deleted]
    for stored in deleted:
        others = referring(state, stored.place, deleted=permanent)
        if any(other.subject != subject for other in others):
            raise refusals.referenced(*stored.place)
        if permanent and not stored.deleted:
            raise refusals.subject_not_soft_deleted(subject)
    answer = [stored.version for stored in deleted]
    if permanent:
        places = [
            stored.place for stored in reversed(deleted)
        ]  # a version goes before those that it refers to
        return Decided(answer, (*gone_for_good(state, places), *settings_gone(state, subject)))
    # Up to the newest of all versions: this record replaces an earlier one of its key, and what that one
    # deleted stays deleted.
    return Decided(answer, (delete_subject_record(Place(subject, next(reversed(versions)))),))


def delete_context(state: RegistryState, context: str) -> Decided[None]:
    if any(subjects.context_of(subject) == context for subject in state.subjects):
        raise RegistryError(
            RegistryCode.CONTEXT_NOT_EMPTY,
            f"The specified context '{context}' is not empty. Delete its subjects permanently first.",
        )
    known = context in state.named_contexts
    return Decided(None, tuple(tombstones(state, [ContextKey(TENANT, context)])) if known else ())


def check_writable(state: RegistryState, scope: str | None) -> None:
    if mode_in_scope(state, scope).is_read_only:
        what = "The registry" if scope is None else f"Subject {scope}"
        raise refusals.not_permitted(f"{what} is in read-only mode. Set its mode to READWRITE to change it.")


def _to_delete(state: RegistryState, subject: str, version: int) -> StoredVersion:
    versions = state.subjects.get(subject)
    if not versions:
        raise refusals.subject_not_found(subject)
    stored = latest(state, subject) if version == LATEST else versions.get(version)
    if stored is None:
        raise refusals.version_not_found(version)
    return stored
