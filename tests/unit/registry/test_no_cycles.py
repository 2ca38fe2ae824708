"""Schemas of every kind are in no cycles of references.

A broker freezes objects that survive a long collection (`tidelog.server.garbage`), and a large schema makes
collections long while it is checked. What is frozen in a cycle is never freed.
"""

import gc
import json
from collections.abc import Iterator

import pytest

from tidelog.registry.compatibility import Level
from tidelog.registry.preparing import Earlier, Job, Source, formatted, prepare
from tidelog.registry.schema import SchemaType


def avro(fields: int) -> str:
    members = [{"name": f"f{n}", "type": ["null", "long"], "default": None} for n in range(fields)]
    return json.dumps({"type": "record", "name": "R", "fields": members})


def json_schema(fields: int) -> str:
    members = {f"f{n}": {"type": ["null", "integer"], "$comment": "c"} for n in range(fields)}
    links = {"$defs": {"d": {"type": "object"}}, "allOf": [{"$ref": "#/$defs/d"}, {"$ref": "#"}]}
    return json.dumps({"type": "object", "properties": members, **links})


def protobuf(fields: int) -> str:
    members = "".join(f"optional A f{n} = {n + 1};" for n in range(fields))
    return f'syntax = "proto3"; message A {{ {members} }}'


KINDS = {SchemaType.AVRO: avro, SchemaType.JSON: json_schema, SchemaType.PROTOBUF: protobuf}


@pytest.fixture(autouse=True)
def _no_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def in_cycles(kind: SchemaType, fields: int) -> int:
    """How many objects reference counts do not free."""
    source = Source(kind, KINDS[kind](fields) + " " * 200_000)  # too large to be kept
    earlier = (Earlier(1, Source(kind, KINDS[kind](fields - 1) + " " * 200_000)),)
    gc.collect()
    prepare(Job(source, normalize=True, level=Level.FULL, earlier=earlier, is_new=True))
    formatted(source, "serialized")
    return gc.collect()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_of_a_schema_does_not_grow_with_it(kind: SchemaType) -> None:
    in_cycles(kind, 5)  # loads what the kind needs
    assert in_cycles(kind, 300) <= in_cycles(kind, 5) + 20
