"""The work that a schema needs before a decision on it: what is parsed, and what it is compared with."""

from collections.abc import Iterable, Iterator, Sequence

from tidelog.registry import config as settings
from tidelog.registry.compatibility import Checks, Level
from tidelog.registry.preparing import Earlier, Job
from tidelog.registry.reserved_fields import Reserved, reserved_names
from tidelog.registry.schema import Schema
from tidelog.registry.state import refusals
from tidelog.registry.state.lookups import config_in_scope
from tidelog.registry.state.matching import check_unicode
from tidelog.registry.state.references import STEPS_MAX, Sources
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion

NO_CHECKS = Checks()

INLINED_MAX = 100
"""Versions, the newest first, that a schema without references may be a copy of."""


def schema_job(
    state: RegistryState, subject: str, schema: Schema, *, normalize: bool, checks: Checks = NO_CHECKS
) -> Job:
    """Returns the job that prepares a schema for a subject, and checks it against the versions before it."""
    live = [one for one in reversed(state.subjects.get(subject, {}).values()) if not one.deleted]
    inlined = [] if schema.references else [one for one in live if one.schema.references]
    job = comparison_job(state, subject, schema, live, normalize=normalize, checks=checks)
    return job._replace(inlined=tuple(_inlined(state, inlined[:INLINED_MAX])))


def comparison_job(
    state: RegistryState,
    subject: str,
    schema: Schema,
    newest_first: Sequence[StoredVersion],
    *,
    normalize: bool,
    checks: Checks,
) -> Job:
    """Returns the job that compares a schema with some versions, the newest first."""
    check_unicode(schema)
    level = checks.level
    compared = [] if level is Level.NONE else list(newest_first)
    group = config_in_scope(state, subject).get(settings.GROUP)
    if group is not None:
        compared = [one for one in compared if _group(one.schema, group) == _group(schema, group)]
    if not level.is_transitive:
        del compared[1:]
    sources = Sources(state)
    source = sources.of(subject, schema)
    earlier = []
    for one in compared:
        earlier.append(Earlier(one.version, sources.of(one.subject, one.schema)))
        if sources.steps > STEPS_MAX:
            raise refusals.invalid_schema(
                f"The versions that the compatibility {level} asks for have more than {STEPS_MAX} references "
                "to different schemas. Set a compatibility that is not transitive."
            )
    reserved = None
    if checks.has_reserved_fields:
        before = reserved_names(newest_first[0].schema.metadata) if newest_first else ()
        reserved = Reserved(reserved_names(schema.metadata), before)
    return Job(source, normalize, level, tuple(earlier), checks.policy, reserved)


def _inlined(state: RegistryState, versions: Iterable[StoredVersion]) -> Iterator[Earlier]:
    sources = Sources(state)
    for one in versions:
        yield Earlier(one.version, sources.of(one.subject, one.schema))
        if sources.steps > STEPS_MAX:
            return


def _group(schema: Schema, group: str) -> object:
    """The value of the property that splits a subject's versions into groups, each compared on its own."""
    return ((schema.metadata or {}).get("properties") or {}).get(group)
