"""Whether a schema is known under a subject, and what the configuration adds to it before it is compared."""

from collections.abc import Collection
from dataclasses import replace

from tidelog.registry import config as settings
from tidelog.registry import metadata as extra
from tidelog.registry.config import Config
from tidelog.registry.content import content_hash
from tidelog.registry.preparing import Prepared
from tidelog.registry.rule_sets import merged_rule_sets
from tidelog.registry.schema import Schema
from tidelog.registry.state import refusals
from tidelog.registry.state.lookups import Which, config_in_scope, counts, latest
from tidelog.registry.state.references import pinned
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion


def check_unicode(schema: Schema) -> None:
    """RegistryError: a text in the schema cannot be written as UTF-8, so it has no content."""
    try:
        content_hash(schema)
    except UnicodeEncodeError:
        raise refusals.invalid_schema(
            "The schema has characters that are no Unicode text. Escape or remove them."
        ) from None


def ids_of(state: RegistryState, subject: str, schema: Schema) -> list[int]:
    """Returns the ids that the schema has in the subject's context, ascending."""
    context = state.context(subject)
    if context is None:
        return []
    return [
        one
        for one in context.ids_of.get(content_hash(schema), ())
        if next(iter(context.by_id[one].values())).schema.type == schema.type  # as of all with the id
    ]


def same_content(
    state: RegistryState, subject: str, schema: Schema, which: Which = Which.LIVE
) -> StoredVersion | None:
    """Returns the newest version under the subject with exactly this schema."""
    context = state.context(subject)
    if context is None:
        return None
    content = content_hash(schema)
    # A subject has thousands of versions, or an id thousands of subjects; hardly ever both.
    versions: Collection[StoredVersion] = state.subjects.get(subject, {}).values()
    with_content = [context.by_id[one] for one in context.ids_of.get(content, ())]
    if sum(map(len, with_content)) < len(versions):
        versions = [one for places in with_content for one in places.values() if one.subject == subject]
    found = (
        one
        for one in versions
        if one.content == content and one.schema.type == schema.type and counts(one, which)
    )
    return max(found, key=lambda one: one.version, default=None)


def same_but_for_version(
    state: RegistryState, subject: str, schema: Schema, which: Which = Which.LIVE
) -> StoredVersion | None:
    """Returns a version that differs in nothing, or in the version that its metadata name: the version that
    the schema's own metadata name, or else the newest."""
    bare = replace(schema, metadata=extra.without_version(schema.metadata))
    newest = None
    for stored in reversed(state.subjects.get(subject, {}).values()):
        other = stored.schema
        if not counts(stored, which) or other.text != schema.text:
            continue
        if replace(other, metadata=extra.without_version(other.metadata)) == bare:
            if extra.names_version(schema.metadata, stored.version):
                return stored
            newest = newest or stored
    return newest


def filled_in(config: Config, schema: Schema, previous: StoredVersion | None) -> Schema:
    """Returns the schema with metadata and rules of the version before it, and of the configuration."""
    metadata, rule_set = schema.metadata, schema.rule_set
    if previous is not None:
        metadata = previous.schema.metadata if metadata is None else metadata
        rule_set = previous.schema.rule_set if rule_set is None else rule_set
    metadata = extra.merged_metadata(config.get(settings.DEFAULT_METADATA), metadata)
    rule_set = merged_rule_sets(config.get(settings.DEFAULT_RULE_SET), rule_set)
    return replace(
        schema,
        metadata=extra.merged_metadata(metadata, config.get(settings.OVERRIDE_METADATA)),
        rule_set=merged_rule_sets(rule_set, config.get(settings.OVERRIDE_RULE_SET)),
    )


def looked_up(
    state: RegistryState,
    subject: str,
    schema: Schema,
    prepared: Prepared,
    *,
    normalize: bool = False,
    deleted: bool = False,
) -> StoredVersion:
    """Look a schema up under a subject by its content. RegistryError: it is not there."""
    if subject not in state.subjects or not (deleted or latest(state, subject)):
        raise refusals.subject_not_found(subject)
    references = pinned(state, subject, schema, normalize=normalize)
    schema = replace(schema, text=prepared.text, references=references)
    which = Which.ALL if deleted else Which.LIVE
    found = (
        same_content(state, subject, schema)
        or same_content(state, subject, schema, which)
        or same_but_for_version(state, subject, schema, which)
    )
    if found is None and prepared.same_as is not None:
        found = state.subjects[subject].get(prepared.same_as)
    if found is None:
        schema = filled_in(config_in_scope(state, subject), schema, latest(state, subject))
        found = same_content(state, subject, schema, which)
    if found is None:
        raise refusals.schema_not_found()
    return found
