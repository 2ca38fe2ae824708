"""Resolves references: the texts of the schemas that a schema refers to, and of those that they refer to.

A reference names a version that exists already, and a version that is referred to is not deleted and never
changes its content. So there are no circles, except in the log of a foreign registry; they are refused.
"""

from tidelog.registry import subjects
from tidelog.registry.preparing import Source
from tidelog.registry.schema import Dependency, Reference, Schema
from tidelog.registry.state import refusals
from tidelog.registry.state.lookups import LATEST, latest
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import Place, StoredVersion

DEPENDENCIES_MAX = 1000
DEPENDENCY_CHARS_MAX = 16 * 1024 * 1024
DEPTH_MAX = 100
STEPS_MAX = 20_000
"""References that are followed, also those to what is known already: some 20 ms on the event loop."""


def pinned(
    state: RegistryState, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = True
) -> tuple[Reference, ...]:
    """Returns the references of a schema under the subject, each with the version that it means now.

    `normalize`: in an order that does not depend on the client, each once. `deleted`: soft-deleted versions
    count.
    """
    if len(schema.references) > DEPENDENCIES_MAX:
        raise _too_many()
    found = [
        reference._replace(version=_target(state, subject, reference, deleted=deleted).version)
        for reference in schema.references
    ]
    return tuple(dict.fromkeys(sorted(found, key=_java_order)) if normalize else found)


def _java_order(reference: Reference) -> tuple[bytes, int]:
    """Confluent's registry sorts by the subject and the version; texts in Java are UTF-16."""
    return reference.subject.encode("utf-16-be", "surrogatepass"), reference.version


def source_of(state: RegistryState, subject: str, schema: Schema) -> Source:
    """Returns the schema with the texts that it needs. RegistryError: one of them does not exist."""
    return Sources(state).of(subject, schema)


class Sources:
    """Several schemas with the texts that they need. Versions of a subject mostly refer to the same others:
    these are looked for once."""

    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._known: dict[tuple[str, tuple[Reference, ...]], tuple[Dependency, ...]] = {}
        self.steps = 0
        """References that were followed."""

    def of(self, subject: str, schema: Schema) -> Source:
        """RegistryError: a text that the schema needs does not exist."""
        if not schema.references:
            return Source(schema.type, schema.text)
        key = (subjects.context_of(subject), schema.references)
        dependencies = self._known.get(key)
        if dependencies is None:
            resolving = _Resolving(self._state)
            resolving.resolve(subject, schema.references, ())
            dependencies = tuple(Dependency(*one) for one in resolving.texts.items())
            self._known[key] = dependencies
            self.steps += resolving.steps
        return Source(schema.type, schema.text, dependencies)


class _Resolving:
    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self.texts: dict[str, str] = {}
        """By name, dependencies before their dependents."""
        self._chars = 0
        self.steps = 0

    def resolve(self, subject: str, references: tuple[Reference, ...], path: tuple[Place, ...]) -> None:
        self.steps += len(references)
        if self.steps > STEPS_MAX:
            raise _too_many()
        for reference in references:
            if reference.name in self.texts:
                continue
            target = _target(self._state, subject, reference)
            if target.place in path:
                raise refusals.invalid_schema(
                    f'The schema refers to itself through subject "{target.subject}" version '
                    f"{target.version}."
                )
            if len(path) >= DEPTH_MAX:
                raise _too_many()
            self.resolve(target.subject, target.schema.references, (*path, target.place))
            if reference.name not in self.texts:
                self.texts[reference.name] = target.schema.text
                self._chars += len(target.schema.text)
            if len(self.texts) > DEPENDENCIES_MAX or self._chars > DEPENDENCY_CHARS_MAX:
                raise _too_many()


def _target(
    state: RegistryState, subject: str, reference: Reference, *, deleted: bool = True
) -> StoredVersion:
    other = subjects.qualified(reference.subject, subject)
    if reference.version == LATEST:
        found = latest(state, other)
    else:
        found = state.stored(Place(other, reference.version))
    if found is None or (found.deleted and not deleted):
        raise refusals.missing_reference(other, reference.version)
    return found


def _too_many() -> Exception:
    return refusals.invalid_schema(
        f"The schema refers to more than {DEPENDENCIES_MAX} others, to more than "
        f"{DEPENDENCY_CHARS_MAX} characters "
        f"of them, or through more than {DEPTH_MAX} steps. Join some of them into one schema."
    )
