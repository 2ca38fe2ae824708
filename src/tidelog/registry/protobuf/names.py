"""The types that a file and its imports declare, by full name, and what a name means where it stands."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.elements import FULL_NAME_MAX, Enum, Extend, Field, File, Group, Message
from tidelog.registry.protobuf.scopes import Scope, scope_of


class Declared(NamedTuple):
    """A type, the path of its file ("" is the schema itself), its package, and the place inside it."""

    path: str
    package: str
    element: Message | Enum
    scope: Scope

    @property
    def is_map_entry(self) -> bool:
        return isinstance(self.element, Message) and self.element.is_map_entry


class Extension(NamedTuple):
    """A field that extends a message, and the scope that its type is named in."""

    field: Field
    scope: Scope


class Names:
    """Finds types by name. A file later in the order wins over an earlier one with the same name.

    `fallback` gives names to look in where these files have none.
    """

    def __init__(
        self, files: Iterable[tuple[str, File]], fallback: "Callable[[], Names] | None" = None
    ) -> None:
        self._fallback = fallback
        self._types: dict[str, Declared] = {}
        self._extensions: dict[str, Extension] = {}
        self._prefixes: dict[str, set[str]] = {}
        """By a part of a full name: what stands before it. Most scopes have no name that begins so."""
        for path, file in files:
            package = file.package or ""
            scope = scope_of(file)
            self._note_parts(scope)
            self._extend(scope, file.extends)
            self._declare(path, package, scope, file.types)

    def _note_parts(self, scope: Scope) -> None:
        for part in scope.outward():
            before, _, name = str(part).rpartition(".")
            self._prefixes.setdefault(name, set()).add(f"{before}." if before else "")

    def _declare(self, path: str, package: str, scope: Scope, types: Sequence[Message | Enum]) -> None:
        for element in types:
            inner = scope.inside(element.name)
            full_name = str(inner)
            if len(full_name) > FULL_NAME_MAX:
                raise SchemaError(
                    f"The full name of {element.name[:40]} has {len(full_name)} characters, and "
                    f"{FULL_NAME_MAX} are allowed. Shorten names, or declare it less deep."
                )
            self._types[full_name] = Declared(path, package, element, inner)
            self._prefixes.setdefault(element.name, set()).add(scope.prefix)
            if isinstance(element, Message):
                self._extend(inner, element.extends)
                self._declare(path, package, inner, element.types)
                self._declare(path, package, inner, [group.message for group in groups_of(element)])

    def _extend(self, scope: Scope, extends: Sequence[Extend]) -> None:
        for extend in extends:
            for field in extend.fields:
                self._extensions[scope.prefix + field.name] = Extension(field, scope)
                self._prefixes.setdefault(field.name, set()).add(scope.prefix)

    def type(self, full_name: str) -> Declared | None:
        found = self._types.get(full_name)
        return self._fallback().type(full_name) if found is None and self._fallback else found

    def extension(self, full_name: str) -> Extension | None:
        found = self._extensions.get(full_name)
        return self._fallback().extension(full_name) if found is None and self._fallback else found

    def resolve(self, name: str, scope: Scope) -> str | None:
        """Returns the full name, without a dot in front, of what a name means inside a scope."""
        full = self._find(name, scope, self._types)
        return self._fallback().resolve(name, scope) if full is None and self._fallback else full

    def resolve_extension(self, name: str, scope: Scope) -> str | None:
        full = self._find(name, scope, self._extensions)
        return self._fallback().resolve_extension(name, scope) if full is None and self._fallback else full

    def _find(self, name: str, scope: Scope, declared: Mapping[str, Any]) -> str | None:
        if name.startswith("."):
            return name[1:] if name[1:] in declared else None
        prefixes = self._prefixes.get(name.partition(".")[0], ())
        for around in scope.outward() if prefixes else ():
            if around.prefix in prefixes and (full := around.prefix + name) in declared:
                return full
        return None


def groups_of(message: Message) -> Iterator[Group]:
    yield from message.groups
    for oneof in message.oneofs:
        yield from oneof.groups
