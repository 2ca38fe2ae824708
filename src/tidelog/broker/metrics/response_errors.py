"""Which error codes a response holds, in whatever depth: a function made for its class, as codecs are.

A fetch of a thousand partitions has a thousand codes, nearly always zeros: made for its class, the function
passes them with a comparison each.
"""

import typing
from collections.abc import Callable, Iterator
from types import UnionType
from typing import Any, TypeAlias

import msgspec

from tidelog.wire.message import Message
from tidelog.wire.source import Source

CODES = ("error_code", "partition_error_code")

ErrorsOf: TypeAlias = Callable[[Any], tuple[int, ...]]


def errors_of(response_class: type[Message]) -> ErrorsOf | None:
    """Returns what lists the error codes of such responses, 0 left out; None if they have no code at all."""
    if not _has_codes(response_class):
        return None
    source = Source()
    with source.block("def errors(message):"):
        source.emit("found = ()")
        _emit(source, response_class, "message")
        source.emit("return found")
    made: ErrorsOf = source.function("errors", f"errors of {response_class.__name__}")
    return made


def _emit(source: Source, struct: type[Message], name: str) -> None:
    for field in _codes(struct):
        with source.block(f"if {name}.{field}:"):
            source.emit(f"found += ({name}.{field},)")
    for field, item in _lists(struct):
        if _has_codes(item):
            inner = source.fresh("item")
            with source.block(f"for {inner} in {name}.{field} or ():"):
                _emit(source, item, inner)


def _has_codes(struct: type[Message]) -> bool:
    return bool(_codes(struct)) or any(_has_codes(item) for _, item in _lists(struct))


def _codes(struct: type[Message]) -> list[str]:
    return [field for field in struct.__struct_fields__ if field in CODES]


def _lists(struct: type[Message]) -> Iterator[tuple[str, type[Message]]]:
    """The fields that are lists of structs, perhaps missing, with the type of their items."""
    for field in msgspec.structs.fields(struct):
        kinds = typing.get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
        for kind in kinds:
            if typing.get_origin(kind) is list:
                [item] = typing.get_args(kind)
                if isinstance(item, type) and issubclass(item, Message):
                    yield field.name, item
