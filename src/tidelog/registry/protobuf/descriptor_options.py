"""Options of descriptors, read and written. Custom options need a pool that knows their extensions.

An option whose extension is not known is left out of a descriptor, as Confluent does: a schema may carry
options of a tool whose files the registry has never seen.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf import message_factory, text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.elements import Entry, Kind, Option, Value
from tidelog.registry.protobuf.names import Names
from tidelog.registry.protobuf.printing_options import quoted
from tidelog.registry.protobuf.scopes import Scope

# The order in which Confluent's canonical text has them; others follow in the order of their numbers.
_ORDER = [
    "java_package",
    "java_outer_classname",
    "java_multiple_files",
    "java_generate_equals_and_hash",
    "java_string_check_utf8",
    "optimize_for",
    "go_package",
    "cc_generic_services",
    "java_generic_services",
    "py_generic_services",
    "ctype",
    "packed",
    "jstype",
    "deprecated",
    "cc_enable_arenas",
    "objc_class_prefix",
    "csharp_namespace",
    "swift_prefix",
    "php_class_prefix",
    "php_namespace",
    "php_metadata_namespace",
    "ruby_package",
]
_RANK = {name: rank for rank, name in enumerate(_ORDER)}
_PSEUDO = ("default", "json_name")


class OptionsReader:
    """Turns options of descriptors into elements. `pool` is asked for once there are custom options."""

    def __init__(self, pool: Callable[[], Any] = lambda: None) -> None:
        self._pool = cache(pool)

    def options(self, message: Any) -> tuple[Option, ...]:
        if len(UnknownFieldSet(message)) and self._pool() is not None:
            message = self._with_extensions(message)
        fields = sorted(message.ListFields(), key=lambda field: _rank(field[0]))
        return tuple(option for field, value in fields for option in _options(field, value))

    def _with_extensions(self, message: Any) -> Any:
        try:
            kind = self._pool().FindMessageTypeByName(message.DESCRIPTOR.full_name)
            return message_factory.GetMessageClass(kind).FromString(message.SerializeToString())
        except (KeyError, DecodeError):
            return message


def _rank(field: Any) -> tuple[bool, int, int]:
    return field.is_extension, _RANK.get(field.name, len(_RANK)), field.number


def _options(field: Any, value: Any) -> Iterable[Option]:
    if field.is_extension:
        values = list(value) if field.is_repeated else [value]
        return [Option(field.full_name, _value(field, item), True) for item in values]
    if field.message_type is not None and not field.is_repeated:  # features
        return [
            Option(f"{field.name}.{inner.name}", _value(inner, item)) for inner, item in value.ListFields()
        ]
    if field.is_repeated:
        return [Option(field.name, _value(field, item)) for item in value]
    return [Option(field.name, _value(field, value))]


def _value(field: Any, value: Any) -> Value:
    if field.message_type is not None:
        return _message(value)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return Value(Kind.BOOLEAN, "true" if value else "false")
    if field.type == FieldDescriptor.TYPE_ENUM:
        named = field.enum_type.values_by_number.get(value)
        return Value(Kind.ENUM, named.name) if named else Value(Kind.NUMBER, str(value))
    if field.type == FieldDescriptor.TYPE_STRING:
        return Value(Kind.STRING, value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return Value(Kind.STRING, value.decode("utf-8", "surrogateescape"))
    return Value(Kind.NUMBER, repr(value))


def _message(message: Any) -> Value:
    entries: list[Entry] = []
    for field, value in message.ListFields():
        key = f"[{field.full_name}]" if field.is_extension else field.name
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            kinds = field.message_type.fields_by_name
            items = tuple(
                Value(
                    Kind.MAP,
                    (Entry("key", _value(kinds["key"], name)), Entry("value", _value(kinds["value"], item))),
                )
                for name, item in sorted(value.items())
            )
            entries.append(Entry(key, Value(Kind.LIST, items)))
        elif field.is_repeated:
            entries.append(Entry(key, Value(Kind.LIST, tuple(_value(field, item) for item in value))))
        else:
            entries.append(Entry(key, _value(field, value)))
    return Value(Kind.MAP, tuple(entries))


def write_plain(options: Sequence[Option], target: Any) -> None:
    """Sets the options that Protobuf itself has. Raises SchemaError where a value does not fit."""
    plain = [option for option in options if not option.parenthesized and option.name not in _PSEUDO]
    if not plain:
        return
    text = " ".join(_nested(option.name.split("."), option.value) for option in plain)
    try:
        text_format.Merge(text, target, allow_unknown_field=True, allow_unknown_extension=True)
    except text_format.ParseError as error:
        names = ", ".join(option.name for option in plain)
        raise SchemaError(f"The value of an option ({names}) does not fit: {error}.") from None


def write_custom(options: Sequence[Option], target: Any, pool: Any, names: Names, scope: Scope) -> None:
    """Sets the options whose extensions the pool knows."""
    parts = []
    for option in options:
        if option.parenthesized and (full := names.resolve_extension(option.name, scope)):
            parts.append(_nested([f"[{full}]"], option.value))
    for part in parts:
        try:
            kind = pool.FindMessageTypeByName(target.DESCRIPTOR.full_name)
            known = message_factory.GetMessageClass(kind)()
            text_format.Merge(part, known, descriptor_pool=pool, allow_unknown_extension=True)
            target.MergeFromString(known.SerializeToString())
        except (KeyError, text_format.ParseError):
            continue


def _nested(path: Sequence[str], value: Value) -> str:
    """Returns `a.b = 1` in text format: `a { b: 1 }`."""
    text = f"{path[-1]}{_text(value)}"
    for name in reversed(path[:-1]):
        text = f"{name} {{ {text} }}"
    return text


def _text(value: Value) -> str:
    """Returns a value in text format, with what stands between a name and it."""
    content = value.content
    if isinstance(content, str):
        return f": {quoted(content) if value.kind is Kind.STRING else content}"
    if isinstance(content, Option):
        name = f"[{content.name[1:-1].lstrip('.')}]" if content.name.startswith("(") else content.name
        return f" {{ {name}{_text(content.value)} }}"
    if value.kind is Kind.LIST:
        items = [_text(item).removeprefix(":").strip() for item in content if isinstance(item, Value)]
        return f": [{', '.join(items)}]"
    entries = [f"{entry.key}{_text(entry.value)}" for entry in content if isinstance(entry, Entry)]
    return f" {{ {' '.join(entries)} }}"
