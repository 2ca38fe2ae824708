"""Which error codes a response holds, in whatever depth: a function made for its class, as codecs are.

A fetch of a thousand partitions has a thousand codes, nearly always zeros: made for its class, the function
passes them with a comparison each.
"""

import typing
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, TypeAlias

import msgspec

from tidelog.wire.message import Message, Part
from tidelog.wire.source import Source

CODES = ("error_code", "partition_error_code")

Write: TypeAlias = Callable[[int, Any], list[Part]]
Count: TypeAlias = Callable[[set[int]], None]


def counting_errors(response_class: type[Message], write: Write, count: Count) -> Write:
    """Returns what calls `count` with the codes of a response if there are any but 0, then `write`."""
    if not _has_codes(response_class):
        return write
    source = Source()
    source.names |= {"write": write, "count": count}
    with source.block("def write_and_count(correlation_id, message):"):
        source.emit("found = ()")
        _emit(source, response_class, "message")
        with source.block("if found:"):
            source.emit("count(set(found))")
        source.emit("return write(correlation_id, message)")
    made: Write = source.function("write_and_count", f"errors of {response_class.__name__}")
    return made


def _emit(source: Source, struct: type[Message], name: str) -> None:
    for field in _codes(struct):
        with source.block(f"if {name}.{field}:"):
            source.emit(f"found += ({name}.{field},)")
    for field, item, is_optional in _lists(struct):
        if _has_codes(item):
            inner = source.fresh("item")
            items = f"{name}.{field} or ()" if is_optional else f"{name}.{field}"
            with source.block(f"for {inner} in {items}:"):
                _emit(source, item, inner)


def _has_codes(struct: type[Message]) -> bool:
    return bool(_codes(struct)) or any(_has_codes(item) for _, item, _ in _lists(struct))


def _codes(struct: type[Message]) -> list[str]:
    return [field for field in struct.__struct_fields__ if field in CODES]


def _lists(struct: type[Message]) -> Iterator[tuple[str, type[Message], bool]]:
    """The fields that are lists of structs, with the type of their items, and whether they may be missing."""
    for field in msgspec.structs.fields(struct):
        kinds = typing.get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
        for kind in kinds:
            if typing.get_origin(kind) is list:
                [item] = typing.get_args(kind)
                if isinstance(item, type) and issubclass(item, Message):
                    yield field.name, item, len(kinds) > 1
