"""Options in normal form: sorted, names of extensions in full, values that set parts of an option merged."""

from collections.abc import Sequence

from tidelog.registry.protobuf.elements import Entry, Field, Kind, Message, Option, Value
from tidelog.registry.protobuf.names import Extension, Names
from tidelog.registry.protobuf.reading import whole_number
from tidelog.registry.protobuf.scopes import Scope


def normal_options(options: Sequence[Option], names: Names, scope: Scope) -> tuple[Option, ...]:
    return _Options(names, scope).normal(options) if options else ()


class _Options:
    def __init__(self, names: Names, scope: Scope) -> None:
        self._names = names
        self._scope = scope

    def normal(self, options: Sequence[Option]) -> tuple[Option, ...]:
        by_name: dict[tuple[str, bool], list[Value]] = {}
        for option in options:
            name, value = option.name, option.value
            if option.parenthesized and (full := self._names.resolve_extension(name, self._scope)):
                name, value = full, _as_message(value)
            by_name.setdefault((name, option.parenthesized), []).append(value)
        normal: list[Option] = []
        for (name, parenthesized), values in sorted(by_name.items()):
            extension = self._names.extension(name) if parenthesized else None
            is_single = extension is not None and extension.field.label != "repeated"
            parts = [self._merged(extension, values)] if extension is not None and is_single else values
            normal += [Option(name, self._value(value), parenthesized) for value in parts]
        return tuple(normal)

    def _merged(self, extension: Extension, values: Sequence[Value]) -> Value:
        """Returns what statements on one option add up to: parts of a message; else the last counts."""
        if not all(value.kind is Kind.MAP for value in values):
            return values[-1]
        merged: dict[str, list[Value]] = {}
        for value in values:
            for entry in _entries(value):
                merged.setdefault(entry.key, []).append(entry.value)
        return Value(
            Kind.MAP, tuple(Entry(key, self._part(extension, key, parts)) for key, parts in merged.items())
        )

    def _part(self, around: Extension, key: str, parts: Sequence[Value]) -> Value:
        if len(parts) == 1:
            return parts[0]
        inner = self._inner(around, key)
        if inner is not None and inner.field.label != "repeated":
            return self._merged(inner, parts)
        items: dict[Value, None] = {}
        for part in parts:
            items.update(dict.fromkeys(_items(part) if part.kind is Kind.LIST else (part,)))
        return Value(Kind.LIST, tuple(items))

    def _inner(self, around: Extension, name: str) -> Extension | None:
        """Returns the field of a name in the message that is the type of another field."""
        full = self._names.resolve(around.field.type, around.scope)
        found = self._names.type(full) if full else None
        if full is None or found is None or not isinstance(found.element, Message):
            return None
        field = _field(found.element, name)
        return Extension(field, found.scope) if field else None

    def _value(self, value: Value) -> Value:
        content = value.content
        if isinstance(content, Option):
            return Value(Kind.OPTION, content._replace(value=self._value(content.value)))
        if value.kind is Kind.NUMBER:
            return Value(Kind.NUMBER, _normal_number(str(content)))
        if value.kind is Kind.LIST:
            items = [self._value(item) for item in _items(value)]
            return items[0] if len(items) == 1 else Value(Kind.LIST, tuple(items))
        if value.kind is Kind.MAP:
            entries = [
                Entry(self._key(entry.key), self._value(entry.value))
                for entry in _entries(value)
                if not (entry.value.kind is Kind.LIST and not entry.value.content)
            ]
            return Value(Kind.MAP, tuple(sorted(entries, key=lambda entry: entry.key)))
        return value

    def _key(self, key: str) -> str:
        if not key.startswith("["):
            return key
        full = self._names.resolve_extension(key[1:-1], self._scope)
        return f"[{full}]" if full else key


def _as_message(value: Value) -> Value:
    """Returns `(option).part = 1` as `(option) = {part: 1}`."""
    if isinstance(value.content, Option):
        inner = value.content
        return Value(Kind.MAP, (Entry(inner.name, _as_message(inner.value)),))
    return value


def _entries(value: Value) -> tuple[Entry, ...]:
    content = value.content
    return tuple(item for item in content if isinstance(item, Entry)) if isinstance(content, tuple) else ()


def _items(value: Value) -> tuple[Value, ...]:
    content = value.content
    return tuple(item for item in content if isinstance(item, Value)) if isinstance(content, tuple) else ()


def _field(kind: Message, name: str) -> Field | None:
    fields = [*kind.fields, *(field for oneof in kind.oneofs for field in oneof.fields)]
    return next((field for field in fields if field.name == name), None)


def _normal_number(text: str) -> str:
    """Returns a number in its shortest form; as it stands where it is too long or has a name (inf, nan)."""
    if len(text) > 32:
        return text
    digits = text.lstrip("-")
    whole = whole_number(digits)
    sign = "-" if text.startswith("-") else ""
    if whole is not None:
        return f"{sign}{whole}"
    try:
        number = float(digits.rstrip("fF"))
    except ValueError:
        return text
    return f"{sign}{int(number)}" if number.is_integer() and number < 1e15 else f"{sign}{number!r}"
