"""Avro schemas to compare with another registry: one of each kind of trouble, and random ones by a seed."""

# ruff: noqa: E501

import json
from random import Random
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMESPACES = ("n", "o.p")
DEFAULTS = {
    "null": None,
    "boolean": True,
    "int": 1,
    "long": 2,
    "float": 1.5,
    "double": 2,
    "string": "s",
    "bytes": "b",
}


def record(*fields: Any, name: str = "R", **attributes: Any) -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields), **attributes})


def field(name: str, type_: Any, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, **attributes}


POINT = {"type": "record", "name": "Point", "fields": [field("x", "double", default=3), field("y", "string")]}

SCHEMAS = [
    '"string"',
    '["null", "string"]',
    "[]",
    '{"type": "string"}',
    '/* a comment */ {"type": "string", "avro.java.string": "String" // and another\n}',
    '{"type": "array", "items": {"type": "map", "values": ["null", "long"], "default": {}}, "z": 1, "a": [2, {"d": 1, "c": 2}]}',
    '{"type": "bytes", "a": 1, "scale": 2, "precision": 4, "logicalType": "decimal"}',
    '{"type": "bytes", "a": 1, "scale": 0, "precision": 4, "logicalType": "decimal"}',
    '{"type": "fixed", "name": "F", "size": 1, "b": 1, "logicalType": "decimal", "precision": 9, "doc": ""}',
    '{"type": "fixed", "name": "F", "size": 12, "b": 1, "logicalType": "duration", "a": 1}',
    '{"type": "int", "a": 1, "logicalType": "date"}',
    '{"type": "int", "a": 1, "logicalType": "unheard-of"}',
    '{"type": "long", "zone": "x", "logicalType": "timestamp-micros", "adjust": true}',
    '{"type": "string", "x": [0.001, 0.0001, 1e7, 9999999.5, -0.0, 100.0, 1e21, 123456789.125, 1e400]}',
    '{"type": "string", "x": "\\u00e9 \\u0001\\u001f\\u007f\\n\\t\\" \\\\ /"}',
    '{"type": "enum", "name": "n.E", "doc": "", "symbols": ["B", "A"], "default": "A", "aliases": ["z", "o.a", "b"], "p": 1}',
    '{"type": "error", "name": "E", "fields": []}',
    record(field("a", "int", order="IGNORE", doc="d", aliases=["z", "b", "b"], default=1, zz=1, aa={"b": 1, "a": 2})),
    record(field("self", ["null", "R"], default=None), namespace="n.s", doc="d", aliases=["Old", "o.Old"], zz=None, aa=1),
    record(field("later", ["null", "Later"]), field("now", {"type": "record", "name": "Later", "fields": []})),
    record(field("a", {"type": "fixed", "name": "X", "size": 4, "namespace": "o"}), field("b", "o.X"), namespace="n"),
    record(field("twice", POINT), field("the_same", POINT)),
    record(field("a", "double", default=1), field("b", "float", default=3.14159265358979), field("c", "float", default=1)),
    record(field("a", "double", default="NaN"), field("b", "float", default="-Infinity"), field("c", "double", default="1.5")),
    record(field("p", POINT, default={"y": "q", "x": 1})),
    record(field("m", {"type": "map", "values": "double"}, default={"b": 1, "a": 2})),
    record(field("u", ["double", "null"], default=1)),
    record(field("b", "bytes", default="\u00ff")),
    record(name="a.b.C", namespace="z"),
    record(name="a.int"),
    record(field("naïve", "int")),
]  # fmt: skip

NOT_SCHEMAS = [
    "",
    "5",
    "{}",
    '"nothing"',
    '{"type": ["null"]}',
    '["int", "int"]',
    '["null", ["null"]]',
    '{"type": "array"}',
    record(field("a-b", "int")),
    record(field("a", "int"), field("a", "int")),
    record(field("a", "int", default="x")),
    record(field("a", "int", default=2**31)),
    record(field("a", ["null", "int"], default="x")),
    record(field("p", POINT, default={})),
    record(field("a", "int", order="x")),
    record(name="int"),
    record(field("a", POINT), field("b", {**POINT, "fields": []})),
    '{"type": "enum", "name": "E", "symbols": ["A", "A"]}',
    '{"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}',
    '{"type": "fixed", "name": "F", "size": -1}',
]

REFERRING = [
    (record(field("a", "n.A"), field("b", ["null", "n.A"])), ['{"type": "enum", "name": "n.A", "symbols": ["X"]}']),
    ('["n.A", "B", "I"]', [
        record(field("i", {"type": "fixed", "name": "I", "size": 1, "namespace": ""}), name="n.A"),
        record(field("a", "n.A"), name="B"),
    ]),
    ('"n.A"', [record(name="n.A")]),
]  # fmt: skip


class Maker:
    """Makes a schema: names are few, so that a reader and a writer meet, and each is defined once."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._defined: list[str] = []

    def type(self, levels: int) -> Any:
        random = self._random
        kinds = [self._primitive, self._primitive, self._known]
        if levels:
            kinds += [self._array, self._union, self._fixed, self._enum, self._record, self._record]
        return random.choice(kinds)(levels - 1)

    def _primitive(self, _: int) -> Any:
        return self._random.choice(PRIMITIVES)

    def _known(self, _: int) -> Any:
        return self._random.choice(self._defined or PRIMITIVES)

    def _array(self, levels: int) -> Any:
        kind, inside = self._random.choice([("array", "items"), ("map", "values")])
        return {"type": kind, inside: self.type(levels)}

    def _union(self, levels: int) -> Any:
        branches: dict[str, Any] = {}
        for _ in range(self._random.randint(1, 4)):
            before = list(self._defined)
            branch = self.type(levels)
            name = branch.get("name", branch["type"]) if isinstance(branch, dict) else str(branch)
            if isinstance(branch, list) or name in branches:
                self._defined = before
            else:
                branches[name] = branch
        return list(branches.values()) or ["null"]

    def _named(self, names: str, made: dict[str, Any]) -> Any:
        name = self._full_name(names)
        if name in self._defined:
            return name
        self._defined.append(name)
        alias = {"aliases": [self._full_name(names)]} if self._random.random() < 0.3 else {}
        return {"name": name, **made, **alias}

    def _full_name(self, names: str) -> str:
        """Each name has a namespace, or else names within would lie in that of the type around them."""
        return f"{self._random.choice(NAMESPACES)}.{self._random.choice(names)}"

    def _fixed(self, _: int) -> Any:
        return self._named("FGH", {"type": "fixed", "size": self._random.choice([4, 8])})

    def _enum(self, _: int) -> Any:
        symbols = self._random.sample("ABCDE", self._random.randint(1, 4))
        default = {"default": symbols[0]} if self._random.random() < 0.3 else {}
        return self._named("CDE", {"type": "enum", "symbols": symbols, **default})

    def _record(self, levels: int) -> Any:
        made = self._named("RSTUV", {"type": "record"})
        if isinstance(made, dict):
            names = self._random.sample("abcdef", self._random.randint(1, 4))
            made["fields"] = [self._field(name, levels) for name in names]
        return made

    def _field(self, name: str, levels: int) -> Any:
        made = field(name, self.type(levels))
        first = made["type"][0] if isinstance(made["type"], list) and made["type"] else made["type"]
        if isinstance(first, str) and first in DEFAULTS and self._random.random() < 0.4:
            made["default"] = DEFAULTS[first]
        return made


def changed(random: Random, schema: Any) -> Any:
    """A copy with other fields, types and symbols here and there."""
    if isinstance(schema, list):
        return [changed(random, branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: changed(random, inside) for name, inside in schema.items() if name != "default"}
    if "default" in schema:
        copy["default"] = schema["default"]
    if copy.get("type") == "record" and random.random() < 0.5:
        copy["fields"].append(field(random.choice("ghij"), random.choice(PRIMITIVES)))
    if copy.get("type") == "enum" and random.random() < 0.4:
        copy["symbols"].append("Z")
    if copy.get("type") in PRIMITIVES and "name" in copy and random.random() < 0.3:
        copy["type"] = random.choice(PRIMITIVES)
        copy.pop("default", None)
    return copy


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    random = Random(seed)
    made = []
    for _ in range(count):
        first = Maker(random).type(5)
        second = changed(random, first) if random.random() < 0.7 else Maker(random).type(4)
        made.append((json.dumps(first), json.dumps(second)))
    return made
