"""Reads the JSON of a schema into types, as Java's `Schema.Parser` does.

A name may be used before its type is defined: the type is put in its place at the end. One reader reads the
dependencies of a schema first, then the schema: so it knows the names of both.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from tidelog.registry.avro import attributes
from tidelog.registry.avro.attributes import NO_PROPERTIES, OF_ENUMS, OF_FIELDS, OF_TYPES, brief
from tidelog.registry.avro.limits import check_nesting
from tidelog.registry.avro.names import check_name, shown
from tidelog.registry.avro.types import (
    ABSENT,
    PRIMITIVES,
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    NamedType,
    Primitive,
    Record,
    Type,
    Union,
)
from tidelog.registry.parsed import SchemaError

_Json: TypeAlias = dict[str, Any]
_Place: TypeAlias = Callable[[Type], None]
_PLAIN = {kind: Primitive(kind, NO_PROPERTIES) for kind in PRIMITIVES}
_NOT_YET = _PLAIN["null"]
"""Holds the place of a type that is being read."""
_ORDERS = ("ascending", "descending", "ignore")
_FIXED_SIZE_MAX = 2**31 - 1


class Reader:
    def __init__(self) -> None:
        self.names: dict[str, NamedType] = {}
        self.repeated: list[tuple[NamedType, NamedType]] = []
        """Types that were defined already, with the first definition: the same, or an error."""
        self.unions: list[Union] = []
        self.fields: list[Field] = []
        self._later: list[tuple[str, str, _Place]] = []
        """Names that are not defined yet: in their namespace, as they are written, and where they stand."""
        self._levels = 0

    def read(self, schema: Any) -> Type:
        found: list[Type] = []
        self._type(schema, None, found.append)
        for full, plain, place in self._later:
            place(self._defined(full, plain))
        self._later.clear()
        return found[0]

    def _defined(self, full: str, plain: str) -> NamedType:
        type_ = self.names.get(full) or self.names.get(plain)
        if type_ is None:
            raise SchemaError(
                f'The type "{shown(full)}" is not defined. Define it in the schema, or add a reference with '
                "this name to the subject that defines it."
            )
        return type_

    def _type(self, schema: Any, namespace: str | None, place: _Place) -> None:
        """Puts the type in its place: now, or once its name is defined."""
        self._levels += 1
        check_nesting(self._levels)
        if isinstance(schema, str):
            self._named(schema, namespace, place)
        elif isinstance(schema, dict):
            self._object(schema, namespace, place)
        elif isinstance(schema, list):
            place(self._union(schema, namespace))
        else:
            raise SchemaError(f"A type is a name, an object or a list of types, not {brief(schema)}.")
        self._levels -= 1

    def _named(self, name: str, namespace: str | None, place: _Place) -> None:
        if name in PRIMITIVES:
            return place(_PLAIN[name])
        full = f"{namespace}.{name}" if namespace and "." not in name else name
        type_ = self.names.get(full) or self.names.get(name)
        if type_ is not None:
            return place(type_)
        self._later.append((full, name, place))

    def _object(self, schema: _Json, namespace: str | None, place: _Place) -> None:
        match kind := schema.get("type"):
            case "record" | "error":
                place(self._record(schema, namespace))
            case "enum":
                place(self._enum(schema, namespace))
            case "fixed":
                place(self._fixed(schema, namespace))
            case "array":
                place(self._array(schema, namespace))
            case "map":
                place(self._map(schema, namespace))
            case str() if kind in PRIMITIVES:
                place(Primitive(kind, attributes.properties(schema, OF_TYPES)))
            case str():
                self._named(kind, namespace, place)
            case _:
                raise SchemaError(f'A type has no name of a type as its "type": {brief(schema)}.')

    def _array(self, schema: _Json, namespace: str | None) -> Array:
        if "items" not in schema:
            raise SchemaError(f'An array says no type of its "items": {brief(schema)}.')
        array = Array(_NOT_YET, attributes.properties(schema, OF_TYPES))
        self._type(schema["items"], namespace, partial(setattr, array, "items"))
        return array

    def _map(self, schema: _Json, namespace: str | None) -> Map:
        if "values" not in schema:
            raise SchemaError(f'A map says no type of its "values": {brief(schema)}.')
        map_ = Map(_NOT_YET, attributes.properties(schema, OF_TYPES))
        self._type(schema["values"], namespace, partial(setattr, map_, "values"))
        return map_

    def _union(self, schema: list[Any], namespace: str | None) -> Union:
        union = Union([_NOT_YET] * len(schema))
        for index, branch in enumerate(schema):
            if isinstance(branch, list):
                raise SchemaError(f"A union is directly within a union: {brief(schema)}. Make it one union.")
            self._type(branch, namespace, partial(union.branches.__setitem__, index))
        self.unions.append(union)
        return union

    def _record(self, schema: _Json, namespace: str | None) -> Record:
        name = attributes.name_of_type(schema, namespace)
        record = Record(name, attributes.doc(schema), is_error=schema["type"] == "error")
        fields = schema.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f'The record "{name.full}" has no list of "fields".')
        self._define(record)
        for field in fields:
            record.fields.append(self._field(field, record))
        record.by_name = {field.name: field for field in record.fields}
        if len(record.by_name) < len(record.fields):
            twice = next(field.name for field in record.fields if record.by_name[field.name] is not field)
            raise SchemaError(f'The record "{name.full}" has two fields with the name "{twice}".')
        record.properties = attributes.properties(schema, OF_TYPES)
        record.aliases = attributes.aliases_of_type(schema, name)
        return record

    def _field(self, schema: Any, record: Record) -> Field:
        if not isinstance(schema, dict) or not isinstance(name := schema.get("name"), str):
            raise SchemaError(f'A field of the record "{record.name.full}" has no name: {brief(schema)}.')
        check_name(name)
        if "type" not in schema:
            raise SchemaError(f'The field "{name}" of the record "{record.name.full}" has no type.')
        order = schema.get("order", "ascending")
        if not isinstance(order, str) or (order := order.lower()) not in _ORDERS:
            raise SchemaError(
                f'The order of the field "{name}" is none of {", ".join(_ORDERS)}: {brief(order)}.'
            )
        default = schema.get("default", ABSENT)
        aliases, properties = attributes.aliases(schema), attributes.properties(schema, OF_FIELDS)
        field = Field(name, _NOT_YET, attributes.doc(schema), default, order, aliases, properties)
        self._type(schema["type"], record.name.namespace, partial(setattr, field, "type"))
        if field.type.kind in ("float", "double") and isinstance(default, str):
            field.default = attributes.number(name, default)
        self.fields.append(field)
        return field

    def _enum(self, schema: _Json, namespace: str | None) -> Enum:
        name = attributes.name_of_type(schema, namespace)
        symbols = attributes.symbols(schema, name)
        default = attributes.enum_default(schema, name, symbols)
        aliases, properties = (
            attributes.aliases_of_type(schema, name),
            attributes.properties(schema, OF_ENUMS),
        )
        enum = Enum(name, attributes.doc(schema), aliases, properties, symbols, default)
        self._define(enum)
        return enum

    def _fixed(self, schema: _Json, namespace: str | None) -> Fixed:
        name = attributes.name_of_type(schema, namespace)
        size = schema.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _FIXED_SIZE_MAX:
            raise SchemaError(f'The fixed type "{name.full}" has no "size" in bytes: {brief(size)}.')
        aliases, properties = (
            attributes.aliases_of_type(schema, name),
            attributes.properties(schema, OF_TYPES),
        )
        fixed = Fixed(name, attributes.doc(schema), aliases, properties, size)
        self._define(fixed)
        return fixed

    def _define(self, type_: NamedType) -> None:
        if (full := type_.name.full) in PRIMITIVES:
            raise SchemaError(f'A type may not have the name "{full}", which is a type of Avro itself.')
        if (first := self.names.setdefault(full, type_)) is not type_:
            self.repeated.append((first, type_))
