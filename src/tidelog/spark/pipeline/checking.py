"""From a tree of values to the structs of a spec, with every mistake found at once and at its line.

msgspec checks the single values; the walk through mappings is done here, because a misspelt key should be
answered with the right one and the line it is on.
"""

import types
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import msgspec

from tidelog.spark.pipeline.faults import Fault, InvalidPipeline, nearest, nearest_name
from tidelog.spark.pipeline.lines import Lines, Place, place_text
from tidelog.spark.pipeline.nodes import YamlNode

Struct = TypeVar("Struct", bound=msgspec.Struct)
MISSING = object()


class Checker:
    """Collects faults; `lines` remembers where each value stood, for rules that look at several."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.lines = Lines()

    def read(self, node: YamlNode, kind: type[Struct], place: Place = ()) -> Struct:
        """Raises InvalidPipeline where anything is wrong."""
        value = self._struct(node, kind, place)
        self.raise_faults()
        return cast(Struct, value)

    def add(self, place: Place, message: str) -> None:
        self.faults.append(Fault(self.lines.find(place), place_text(place), message))

    def raise_faults(self) -> None:
        if self.faults:
            raise InvalidPipeline(self.faults)

    def _value(self, node: YamlNode, kind: Any, place: Place) -> Any:
        kind = _as_written(_without_none(kind), node)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._struct(node, kind, place)
        origin = get_origin(kind)
        if origin is dict and node.entries is not None:
            inner = get_args(kind)[1]
            self._remember(node, place)
            return {key: self._value(entry, inner, (*place, key)) for key, entry in node.entries.items()}
        if origin is list and node.items is not None:
            inner = get_args(kind)[0]
            for number, item in enumerate(node.items):
                self.lines.of_values[*place, number] = item.line
            return [self._value(item, inner, (*place, number)) for number, item in enumerate(node.items)]
        return self._leaf(node, kind, place)

    def _struct(self, node: YamlNode, kind: type[msgspec.Struct], place: Place) -> Any:
        self.lines.of_values.setdefault(place, node.line)
        if node.entries is None:
            self.add(place, f"has to be a mapping with the keys {', '.join(_keys(kind))}")
            return MISSING
        self._remember(node, place)
        fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
        values = {}
        misspelt: set[str | None] = set()
        for key, entry in node.entries.items():
            if key not in fields:
                self.add((*place, key), f"there is no key '{key}' here{nearest(key, fields)}")
                misspelt.add(nearest_name(key, fields))
            elif entry.plain() is None:
                self.add((*place, key), "has no value; leave the key out, or write one")
            else:
                values[fields[key].name] = self._value(entry, fields[key].type, (*place, key))
        for key, field in fields.items():
            if field.required and key not in node.entries and key not in misspelt:
                self.add(place, f"the key '{key}' is missing")
        return MISSING if self.faults else kind(**values)

    def _leaf(self, node: YamlNode, kind: Any, place: Place) -> Any:
        try:
            if node.text_line is not None:
                self.lines.of_texts[place] = node.text_line
            return msgspec.convert(node.plain(), kind, strict=not node.is_filled)
        except msgspec.ValidationError as error:
            self.add(place, _said(str(error), node.plain(), kind))
            return MISSING

    def _remember(self, node: YamlNode, place: Place) -> None:
        for key, line in node.key_lines.items():
            self.lines.of_values[*place, key] = line


def _as_written(kind: Any, node: YamlNode) -> Any:
    """A mapping or a text, where a value may be either."""
    if get_origin(kind) is not Union:
        return kind
    structs = [part for part in get_args(kind) if isinstance(part, type) and issubclass(part, msgspec.Struct)]
    others = [part for part in get_args(kind) if part not in structs]
    if not structs or (node.entries is None and len(others) != 1):
        return kind
    return structs[0] if node.entries is not None else others[0]


def _keys(kind: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        rest = [part for part in get_args(kind) if part is not type(None)]
        return rest[0] if len(rest) == 1 else Union[tuple(rest)]  # noqa: UP007 - made at run time
    return kind


def _said(message: str, value: object, kind: Any) -> str:
    choices = [choice for choice in get_args(kind) if isinstance(choice, str)]
    if choices and isinstance(value, str):
        return f"'{value}' is not possible{nearest(value, choices)}"
    if kind is str and not isinstance(value, (dict, list)):
        return f"{value!r} is no text here; put it into quotes"
    return message[:1].lower() + message[1:]
