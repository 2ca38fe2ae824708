"""The registry's verdict on schemas that records name: is each registered under the subject of its rule?"""

from collections.abc import Awaitable, Callable, Sequence

from tidelog.registry import subjects
from tidelog.registry.errors import RegistryError
from tidelog.registry.preparing import Source
from tidelog.registry.state.lookups import resolved_alias
from tidelog.registry.state.references import source_of
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion
from tidelog.registry.validation.checking import refusal
from tidelog.registry.validation.naming import SchemaName
from tidelog.registry.validation.questions import Question, Rule


async def judge(
    state: RegistryState,
    question: Question,
    record_names: Callable[[Source], Awaitable[Sequence[str]]],
) -> dict[SchemaName, str | None]:
    """`record_names` parses schemas, beside the event loop. Subjects are those of the default context."""
    return {name: await _verdict(state, question.rule, name, record_names) for name in question.names}


async def _verdict(
    state: RegistryState,
    rule: Rule,
    name: SchemaName,
    record_names: Callable[[Source], Awaitable[Sequence[str]]],
) -> str | None:
    found = _versions(state, name)
    if not found:
        return refusal(rule, name, (), is_known=False)
    names: Sequence[str] = ()
    if rule.needs_record_names:
        try:
            names = await record_names(source_of(state, found[0].subject, found[0].schema))
        except RegistryError as error:
            return f"the schema cannot be read: {error}"
    wanted = rule.subjects(names)
    # Clients that register under a subject which is an alias register under the other one.
    taken = {*wanted, *(resolved_alias(state, subject) for subject in wanted)}
    if any(stored.subject in taken for stored in found if not stored.deleted):
        return None
    return refusal(rule, name, wanted, is_known=True)


def _versions(state: RegistryState, name: SchemaName) -> list[StoredVersion]:
    """Returns all versions with an id, soft-deleted ones included, or with one of the ids of a GUID."""
    context = state.contexts.get(subjects.DEFAULT_CONTEXT)
    if context is None:
        return []
    ids = [name] if isinstance(name, int) else context.ids_of.get(name, [])
    return [stored for schema_id in ids for stored in context.by_id.get(schema_id, {}).values()]
