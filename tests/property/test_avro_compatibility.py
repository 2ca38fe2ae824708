"""Avro's rules of compatibility, against those of Apache's own Python package."""

import json

from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
from avro.schema import parse as parse_apache
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.registry.avro.parsing import parse

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
DEFAULTS = {"null": None, "int": 1, "string": "s", "boolean": True}


class Draft:
    """Draws one schema: names are few, so that a reader and a writer meet, and each is defined once."""

    def __init__(self, draw):
        self.draw = draw
        self.defined = []

    def type(self, levels):
        kinds = ["primitive", "primitive", "known"]
        kinds += ["array", "map", "union", "fixed", "enum", "record", "record"] if levels else []
        kind = self.draw(st.sampled_from(kinds))
        return getattr(self, kind)(levels - 1)

    def primitive(self, _=0):
        return self.draw(st.sampled_from(PRIMITIVES))

    def known(self, _):
        return self.draw(st.sampled_from(self.defined)) if self.defined else self.primitive()

    def array(self, levels):
        return {"type": "array", "items": self.type(levels)}

    def map(self, levels):
        return {"type": "map", "values": self.type(levels)}

    def union(self, levels):
        branches = {}
        for _ in range(self.draw(st.integers(1, 3))):
            before = list(self.defined)
            branch = self.type(levels)
            name = branch.get("name", branch["type"]) if isinstance(branch, dict) else branch
            if isinstance(branch, list) or name in branches:
                self.defined = before
            else:
                branches[name] = branch
        return list(branches.values()) or ["null"]

    def named(self, names, make):
        name = self.draw(st.sampled_from(names))
        if name in self.defined:
            return name
        self.defined.append(name)
        return {"name": name} | make()

    def fixed(self, _):
        size = self.draw(st.sampled_from([4, 8]))
        return self.named("FG", lambda: {"type": "fixed", "size": size})

    def enum(self, _):
        symbols = self.draw(st.lists(st.sampled_from("ABC"), min_size=1, unique=True))
        default = {"default": symbols[0]} if self.draw(st.booleans()) else {}
        return self.named("DE", lambda: {"type": "enum", "symbols": symbols} | default)

    def record(self, levels):
        return self.named("RST", lambda: {"type": "record", "fields": self.fields(levels)})

    def fields(self, levels):
        names = self.draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
        return [self.field(name, levels) for name in names]

    def field(self, name, levels):
        field = {"name": name, "type": self.type(levels)}
        first = field["type"][0] if isinstance(field["type"], list) else field["type"]
        if isinstance(first, str) and first in DEFAULTS and self.draw(st.booleans()):
            field["default"] = DEFAULTS[first]
        return field


@st.composite
def schemas(draw):
    return Draft(draw).type(4)


@st.composite
def pairs(draw):
    """Two schemas, of which the second is mostly a changed copy of the first."""
    first = draw(schemas())
    if draw(st.integers(0, 3)) == 0:
        return first, draw(schemas())
    second = json.loads(json.dumps(first))
    change(draw, second)
    return first, second


def change(draw, schema):
    if isinstance(schema, list):
        for branch in schema:
            change(draw, branch)
        return
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "record":
        if draw(st.booleans()):
            schema["fields"].append(
                {"name": draw(st.sampled_from("vwx")), "type": draw(st.sampled_from(PRIMITIVES))}
            )
        for field in schema["fields"]:
            if field["type"] in PRIMITIVES and draw(st.integers(0, 3)) == 0:
                field["type"] = draw(st.sampled_from(PRIMITIVES))
                field.pop("default", None)
            change(draw, field["type"])
    if schema.get("type") == "enum" and draw(st.booleans()):
        schema["symbols"].append("Z")
    for inside in ("items", "values"):
        change(draw, schema.get(inside))


@settings(deadline=None, max_examples=300)
@given(pairs())
def test_the_same_pairs_are_readable(pair):
    reader, writer = map(json.dumps, pair)
    apache = ReaderWriterCompatibilityChecker().get_compatibility(parse_apache(reader), parse_apache(writer))
    expected = apache.compatibility is SchemaCompatibilityType.compatible
    assert (parse(reader).incompatibilities(parse(writer)) == []) is expected


@settings(deadline=None, max_examples=100)
@given(schemas())
def test_a_schema_reads_itself_in_every_form(schema):
    parsed = parse(json.dumps(schema))
    forms = [parsed, parse(parsed.text), parsed.normalized(), parse(parsed.formatted("resolved"))]
    assert parse(parsed.text).text == parsed.text
    assert parsed.normalized().normalized().text == parsed.normalized().text
    assert all(reader.incompatibilities(writer) == [] for reader in forms for writer in forms)
