"""Elements in normal form: texts that mean the same become the same text, as with Confluent's `normalize`.

Names of types become full, with a dot in front; fields, oneofs, options, ranges and imports are sorted; the
messages that descriptors declare for maps become `map<>`. Messages, enums, services and rpcs stay in order,
because records refer to messages by their place.
"""

from collections.abc import Sequence

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.elements import (
    SCALARS,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Message,
    OneOf,
    Option,
    Range,
    Reserved,
    Rpc,
    Service,
    map_types,
)
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.normalizing_options import normal_options
from tidelog.registry.protobuf.scopes import Scope, scope_of


def normalize(file: File, names: Names) -> File:
    """Raises SchemaError where a name means nothing."""
    return _Normalizer(names).file(file)


class _Normalizer:
    def __init__(self, names: Names) -> None:
        self._names = names

    def file(self, file: File) -> File:
        scope = scope_of(file)
        return File(
            None if file.syntax == "proto2" else file.syntax,
            file.package,
            tuple(sorted(set(file.imports))),
            tuple(sorted(set(file.public_imports))),
            tuple(sorted(set(file.weak_imports))),
            self._options(file.options, scope),
            self._types(file.types, scope),
            self._extends(file.extends, scope),
            tuple(self._service(service, scope) for service in file.services),
        )

    def _options(self, options: Sequence[Option], scope: Scope) -> tuple[Option, ...]:
        return normal_options(options, self._names, scope)

    def _types(self, types: Sequence[Message | Enum], scope: Scope) -> tuple[Message | Enum, ...]:
        return tuple(
            self._message(kind, scope) if isinstance(kind, Message) else self._enum(kind, scope)
            for kind in types
            if not (isinstance(kind, Message) and kind.is_map_entry)
        )

    def _message(self, message: Message, around: Scope) -> Message:
        scope = around.inside(message.name)
        oneofs = [self._oneof(oneof, scope) for oneof in message.oneofs if oneof.fields or oneof.groups]
        return Message(
            message.name,
            self._fields(message.fields, scope),
            tuple(sorted(oneofs, key=_first_number)),
            self._groups(message.groups, scope),
            self._types(message.types, scope),
            self._options(message.options, scope),
            _normal_reserved(message.reserved),
            self._extensions(message.extensions, scope),
            self._extends(message.extends, scope),
            message.visibility,
        )

    def _fields(self, fields: Sequence[Field], scope: Scope) -> tuple[Field, ...]:
        return tuple(sorted((self._field(field, scope) for field in fields), key=lambda field: field.number))

    def _field(self, field: Field, scope: Scope) -> Field:
        kind = self._type(field.type, scope)
        label = None if map_types(kind) else field.label
        return Field(label, kind, field.name, field.number, self._options(field.options, scope))

    def _type(self, name: str, scope: Scope) -> str:
        if name in SCALARS:
            return name
        if pair := map_types(name):
            return f"map<{pair[0]}, {self._type(pair[1], scope)}>"
        full = self._resolved(name, scope)
        found = self._names.type(full[1:])
        if found and isinstance(found.element, Message) and found.is_map_entry:
            return self._type(found.element.map_type(), found.scope)
        return full

    def _resolved(self, name: str, scope: Scope) -> str:
        full = self._names.resolve(name, scope)
        if full is None:
            raise SchemaError(unknown_type(name, scope))
        return f".{full}"

    def _groups(self, groups: Sequence[Group], scope: Scope) -> tuple[Group, ...]:
        normal = (
            Group(
                group.label,
                group.number,
                self._message(group.message, scope),
                self._options(group.options, scope),
            )
            for group in groups
        )
        return tuple(sorted(normal, key=lambda group: group.number))

    def _oneof(self, oneof: OneOf, scope: Scope) -> OneOf:
        return OneOf(
            oneof.name,
            self._fields(oneof.fields, scope),
            self._groups(oneof.groups, scope),
            self._options(oneof.options, scope),
        )

    def _extensions(self, extensions: Sequence[Extensions], scope: Scope) -> tuple[Extensions, ...]:
        single = [
            Extensions((_single(value),), self._options(statement.options, scope))
            for statement in extensions
            for value in statement.values
        ]
        return tuple(sorted(single, key=lambda statement: _order(statement.values[0])))

    def _extends(self, extends: Sequence[Extend], scope: Scope) -> tuple[Extend, ...]:
        merged: dict[str, Extend] = {}
        for extend in extends:
            name = self._resolved(extend.name, scope)
            known = merged.get(name, Extend(name))
            merged[name] = Extend(name, known.fields + extend.fields, known.groups + extend.groups)
        return tuple(
            Extend(name, self._fields(extend.fields, scope), self._groups(extend.groups, scope))
            for name, extend in merged.items()
        )

    def _enum(self, enum: Enum, around: Scope) -> Enum:
        scope = around.inside(enum.name)
        constants = [
            Constant(constant.name, constant.number, self._options(constant.options, scope))
            for constant in enum.constants
        ]
        constants.sort(key=lambda constant: (constant.number, constant.name))
        options = self._options(enum.options, scope)
        return Enum(enum.name, tuple(constants), options, _normal_reserved(enum.reserved), enum.visibility)

    def _service(self, service: Service, around: Scope) -> Service:
        scope = around.inside(service.name)
        rpcs = tuple(self._rpc(rpc, scope) for rpc in service.rpcs)
        return Service(service.name, rpcs, self._options(service.options, scope))

    def _rpc(self, rpc: Rpc, scope: Scope) -> Rpc:
        return rpc._replace(
            request=self._resolved(rpc.request, scope),
            response=self._resolved(rpc.response, scope),
            options=self._options(rpc.options, scope),
        )


def unknown_type(name: str, scope: Scope) -> str:
    where = str(scope) or "the file"
    return (
        f"The type '{name}', which {where} names, is not declared. Declare it, or import the file that does "
        "and add a reference whose name is the path of the import."
    )


def _first_number(oneof: OneOf) -> int:
    return min([*(field.number for field in oneof.fields), *(group.number for group in oneof.groups)])


def _normal_reserved(statements: Sequence[Reserved]) -> tuple[Reserved, ...]:
    values = {
        _single(value) if not isinstance(value, str) else value for values in statements for value in values
    }
    return tuple((value,) for value in sorted(values, key=_order))


def _single(value: int | Range) -> int | Range:
    return value.first if isinstance(value, Range) and value.first == value.last else value


def _order(value: str | int | Range) -> tuple[int, int, str]:
    """Numbers by size, then names by alphabet."""
    if isinstance(value, str):
        return 1, 0, value
    return (0, value.first, str(value.last)) if isinstance(value, Range) else (0, value, "")
