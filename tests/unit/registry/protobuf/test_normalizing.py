"""Texts that mean the same have one normal form."""

import pytest

from tidelog.registry.protobuf.parsing import parse
from tidelog.registry.schema import Dependency

OTHER = Dependency("o.proto", 'syntax = "proto3"; package p.q; message O {} enum E { Z = 0; }')
OPTIONS = Dependency(
    "options.proto",
    'syntax = "proto2"; package o; import "google/protobuf/descriptor.proto"; '
    "extend google.protobuf.FieldOptions { optional Rule rule = 50000; repeated int32 n = 50001; } "
    "message Rule { optional int32 low = 1; optional Rule inner = 2; repeated string names = 3; }",
)
PROTO3 = 'syntax = "proto3"; '


def normal(text: str) -> str:
    return parse(text, [OTHER, OPTIONS]).normalized().text


SAME = {
    "fields by number": ("message A { int32 b = 2; int32 a = 1; }",
     "message A { int32 a = 1; int32 b = 2; }"),
    "names in full": ("package p; message A { A a = 1; }", "package p; message A { .p.A a = 1; }"),
    "outer names": ("package p.q.r; import 'o.proto'; message A { q.O o = 1; }",
                    "package p.q.r; import 'o.proto'; message A { O o = 1; }"),
    "imports": ("import 'o.proto'; import 'options.proto'; message A {}",
                "import 'options.proto'; import 'o.proto'; import 'o.proto'; message A {}"),
    "ranges": ("message A { reserved 'x', 5, 1 to 1; }",
     "message A { reserved 1; reserved 5; reserved 'x'; }"),
    "oneofs": ("message A { oneof b { int32 x = 3; } oneof a { int32 z = 2; int32 y = 1; } }",
               "message A { oneof a { int32 y = 1; int32 z = 2; } oneof b { int32 x = 3; } }"),
    "maps": ("message A { map<string, B> b = 1; } message B {}",
             "message A { repeated BEntry b = 1; message BEntry { option map_entry = true; "
             "string key = 1; B value = 2; } } message B {}"),
    "constants": ("enum E { Z = 0; B = 2; A = 1; }", "enum E { Z = 0; A = 1; B = 2; }"),
    "numbers": ("import 'options.proto'; message A { int32 a = 1 [(o.n) = 0x10]; }",
                "import 'options.proto'; message A { int32 a = 0x1 [(o.n) = 16]; }"),
    "options": ("import 'options.proto'; message A { int32 a = 1 [deprecated = true, (o.rule).low = 1]; }",
                "import 'options.proto'; message A { int32 a = 1 [(.o.rule) = {low: 1}, "
                "deprecated = true]; }"),
    "parts of an option": (
        "import 'options.proto'; message A { int32 a = 1 "
        "[(o.rule).inner.low = 1, (o.rule).names = 'a', (o.rule).inner.names = 'c', (o.rule).names = 'b']; }",
        "import 'options.proto'; message A { int32 a = 1 "
        "[(o.rule) = {names: ['a', 'b'] inner <names: 'c', low: 1;>}]; }"),
    "rpcs": ("message A {} service S { rpc R (A) returns (A) {} }",
     "message A {} service S { rpc R (.A) returns (.A); }"),
}  # fmt: skip


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_one_normal_form(pair: tuple[str, str]) -> None:
    first, second = (normal(PROTO3 + text) for text in pair)
    assert first == second
    assert normal(first) == first


def test_messages_stay_in_order_because_records_name_their_places() -> None:
    schema = parse(PROTO3 + "message B {} message A { message D {} message C {} }").normalized()
    first, second = schema.descriptors()[-1].message_type
    assert (first.name, second.name) == ("B", "A")
    assert [nested.name for nested in second.nested_type] == ["D", "C"]


def test_proto2_is_what_a_file_without_syntax_is() -> None:
    assert normal('syntax = "proto2"; message A { optional int32 a = 1; }') == normal(
        "message A { optional int32 a = 1; }"
    )


def test_extends_of_one_message_are_joined() -> None:
    text = "message A { extensions 5 to 9, 3; } extend A { optional int32 f = 6; } "
    text += "extend .A { optional int32 e = 5; }"
    assert normal(text).endswith("extend .A {\n  optional int32 e = 5;\n  optional int32 f = 6;\n}\n")
    assert "  extensions 3;\n  extensions 5 to 9;\n" in normal(text)


def test_options_that_no_file_declares_stay_as_they_are() -> None:
    assert "[(x.y).z = 1.5]" in normal(PROTO3 + "message A { int32 a = 1 [(x.y).z = 1.50f]; }")
