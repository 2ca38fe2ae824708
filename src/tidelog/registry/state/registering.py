"""Decides on a registration: an id and a version for a schema, or those that it has already.

A registration comes twice. First the state gives a job, to be prepared beside the event loop; then the
prepared schema is registered, if the state still gives the same job. A schema that is known by its exact
text needs no job.
"""

from dataclasses import dataclass, replace

from tidelog.registry import config as settings
from tidelog.registry import metadata as extra
from tidelog.registry import subjects
from tidelog.registry.config import Config
from tidelog.registry.content import content_hash
from tidelog.registry.mode import Mode
from tidelog.registry.preparing import Job, Prepared
from tidelog.registry.schema import Schema
from tidelog.registry.state import refusals
from tidelog.registry.state.decided import Decided, gone_for_good
from tidelog.registry.state.jobs import NO_CHECKS, schema_job
from tidelog.registry.state.lookups import LATEST, config_in_scope, latest, mode_in_scope
from tidelog.registry.state.matching import (
    check_unicode,
    filled_in,
    ids_of,
    same_but_for_version,
    same_content,
)
from tidelog.registry.state.records import INT_MAX, context_record, schema_record
from tidelog.registry.state.references import pinned
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion

NEXT_VERSION = 0
NEW_ID = -1


@dataclass(frozen=True, slots=True)
class Registration:
    subject: str
    """As `subjects.checked_subject` returns it."""
    schema: Schema
    """As the client sent it. Without a text: the latest version, with other metadata or rules."""
    version: int = NEXT_VERSION
    """LATEST: the next one, and the metadata name it."""
    id: int = NEW_ID
    """Given in IMPORT mode alone."""
    normalize: bool | None = None
    """None: as the configuration says."""
    force: bool = False
    """Compare with no earlier version."""


def registration_job(state: RegistryState, request: Registration) -> Job | StoredVersion:
    """Returns what has to be prepared, or the version that is known by its exact text already."""
    mode = _checked_mode(state, request)
    config = config_in_scope(state, request.subject)
    schema = _schema_of(state, config, mode, request)
    normalize = _normalizes(config, mode, request)
    if not normalize and (request.id == NEW_ID or not mode.is_import):
        known = _known_as_sent(state, config, request, schema)
        if known is not None:
            return known
    checks = NO_CHECKS if mode.is_import or request.force else settings.checks_of(config)
    filled = schema if mode.is_import else filled_in(config, schema, latest(state, request.subject))
    job = schema_job(state, request.subject, filled, normalize=normalize, checks=checks)
    return job._replace(is_new=_is_new(config, mode))


def register(state: RegistryState, request: Registration, prepared: Prepared) -> Decided[StoredVersion]:
    """Decide on a registration whose job the state still gives."""
    mode = _checked_mode(state, request)
    config = config_in_scope(state, request.subject)
    schema = replace(_schema_of(state, config, mode, request), text=prepared.text)
    known = _known_as_sent(state, config, request, schema)
    if known is None and not mode.is_import:
        schema = _as_stored(state, config, request, schema)
        known = _known_as_stored(state, request, schema, prepared)
    if known is not None:
        return Decided(known)
    if request.id == NEW_ID and mode.is_import:
        raise refusals.not_permitted(
            f"Subject {request.subject} is not in read-write mode but in import mode, where each "
            "new schema comes with its id. Give an id, or set the mode to READWRITE."
        )
    if prepared.problems:
        raise refusals.incompatible(request.subject, prepared.problems)
    return _registered(state, request, schema, is_import=mode.is_import)


def _registered(
    state: RegistryState, request: Registration, schema: Schema, *, is_import: bool
) -> Decided[StoredVersion]:
    version = _version(state, request, is_import=is_import)
    schema_id = _given_id(state, request, schema) if is_import else _id_of(state, request, schema)
    stored = StoredVersion(request.subject, version, schema_id, schema, False, content_hash(schema))
    versions = state.subjects.get(request.subject, {})
    if version in versions:
        before = versions[version]
        if (before.id, before.content) != (stored.id, stored.content):
            raise refusals.not_permitted(
                f"Version {version} of subject {request.subject} exists with id {before.id} and would "
                "be overwritten. "
                "Delete it permanently first, or leave the version out."
            )
        if not before.deleted:
            return Decided(before)
    context = subjects.context_of(request.subject)
    is_new_context = context != subjects.DEFAULT_CONTEXT and context not in state.named_contexts
    replaced = [
        one.place
        for one in versions.values()
        if one.deleted and one.id == schema_id and one.version < version and one.place not in state.referrers
    ]
    contexts = [context_record(context)] if is_new_context else []
    return Decided(stored, (*contexts, *gone_for_good(state, replaced), schema_record(stored)))


def _checked_mode(state: RegistryState, request: Registration) -> Mode:
    mode = mode_in_scope(state, request.subject)
    if mode.is_read_only:
        raise refusals.not_permitted(
            f"Subject {request.subject} is in read-only mode. Set its mode to READWRITE to register schemas."
        )
    if request.id != NEW_ID and not mode.is_import:
        raise refusals.not_permitted(
            f"Subject {request.subject} is not in import mode, so the registry chooses ids. "
            "Leave the id out, or set the mode to IMPORT."
        )
    return mode


def _normalizes(config: Config, mode: Mode, request: Registration) -> bool:
    asked = bool(config.get(settings.NORMALIZE)) if request.normalize is None else request.normalize
    return asked and not mode.is_import


def _is_new(config: Config, mode: Mode) -> bool:
    return settings.validates_new(config) and not mode.is_import


def _schema_of(state: RegistryState, config: Config, mode: Mode, request: Registration) -> Schema:
    """Returns the schema that is meant, with references to versions that exist."""
    schema = request.schema
    check_unicode(schema)
    if not schema.text.strip():
        previous = latest(state, request.subject)
        if previous is None:
            raise refusals.invalid_schema("Empty schema: send a text in 'schema'.")
        return replace(previous.schema, metadata=schema.metadata, rule_set=schema.rule_set)
    references = pinned(
        state,
        request.subject,
        schema,
        normalize=_normalizes(config, mode, request),
        deleted=not _is_new(config, mode),
    )
    return replace(schema, references=references)


def _known_as_sent(
    state: RegistryState, config: Config, request: Registration, schema: Schema
) -> StoredVersion | None:
    if settings.fills_in(config) or request.version not in (NEXT_VERSION, LATEST):
        return None
    known = same_content(state, request.subject, schema)
    if request.version == LATEST and known is not latest(state, request.subject):
        return None
    return known if known is not None and request.id in (NEW_ID, known.id) else None


def _as_stored(state: RegistryState, config: Config, request: Registration, schema: Schema) -> Schema:
    schema = filled_in(config, schema, latest(state, request.subject))
    if request.version != NEXT_VERSION or extra.names_version(schema.metadata):
        return replace(schema, metadata=extra.with_version(schema.metadata, _next_version(state, request)))
    return schema


def _known_as_stored(
    state: RegistryState, request: Registration, schema: Schema, prepared: Prepared
) -> StoredVersion | None:
    previous = latest(state, request.subject)
    known = same_but_for_version(state, request.subject, schema)
    if request.version == LATEST:
        return known if known is previous else None
    if request.version != NEXT_VERSION:
        return known if known is not None and known.version == request.version else None
    if known is None and prepared.same_as is not None:
        return state.subjects[request.subject].get(prepared.same_as)
    return known


def _next_version(state: RegistryState, request: Registration) -> int:
    newest = next(reversed(state.subjects.get(request.subject, {})), 0)
    return max(newest, *state.skipped.get(request.subject, ()), 0) + 1


def _version(state: RegistryState, request: Registration, *, is_import: bool) -> int:
    following = _next_version(state, request)
    if request.version in (NEXT_VERSION, LATEST):
        return following
    if not 1 <= request.version <= INT_MAX or (not is_import and request.version != following):
        raise refusals.invalid_schema(
            f"Version {request.version} is not one more than previous version {following - 1}. Leave "
            "the version out."
        )
    return request.version


def _id_of(state: RegistryState, request: Registration, schema: Schema) -> int:
    known = ids_of(state, request.subject, schema)
    if known:
        return known[0]
    context = state.context(request.subject)
    following = 1 if context is None else context.highest_id + 1
    if following > INT_MAX:
        raise refusals.not_permitted(
            f"Every id up to {INT_MAX} was given in the context of {request.subject}. Register in "
            "another context."
        )
    return following


def _given_id(state: RegistryState, request: Registration, schema: Schema) -> int:
    context = state.context(request.subject)
    others = {} if context is None else context.by_id.get(request.id, {})
    if any(
        (other.content, other.schema.type) != (content_hash(schema), schema.type) for other in others.values()
    ):
        raise refusals.not_permitted(
            f"Overwrite new schema with id {request.id} in context "
            f"{subjects.context_of(request.subject)} is not "
            "permitted: the id has another schema."
        )
    if not 0 <= request.id <= INT_MAX:
        raise refusals.invalid_schema(f"An id is a number from 0 to {INT_MAX}.")
    return request.id
