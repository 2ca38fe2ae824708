"""Which changes Confluent names, at which path, and which of them break readers."""

from collections.abc import Sequence

import pytest

from tests.rigs.peak_memory import peak_bytes
from tidelog.registry.parsed import READER, WRITER
from tidelog.registry.protobuf.comparing import differences
from tidelog.registry.protobuf.differences import DIFFERENCES_MAX
from tidelog.registry.protobuf.parsing import parse
from tidelog.registry.protobuf.protobuf_schema import ProtobufSchema
from tidelog.registry.schema import Dependency

PROTO3 = 'syntax = "proto3"; '


def changes(writer: ProtobufSchema, reader: ProtobufSchema) -> list[str]:
    found = differences(writer._file, writer._names, reader._file, reader._names)
    return sorted(f"{one.change} {one.path}" for one in found)


def broken(writer: ProtobufSchema, reader: ProtobufSchema) -> list[str]:
    return sorted(incompatibility.kind for incompatibility in reader.incompatibilities(writer))


COMPATIBLE = [
    ("message A { int32 a = 1; }", "message A { int32 a = 1; int32 b = 2; }", ["FIELD_ADDED #/A/2"]),
    ("message A { int32 a = 1; }", "message A {}", ["FIELD_REMOVED #/A/1"]),
    ("message A { int32 a = 1; }", "message A { int32 b = 1; }", ["FIELD_NAME_CHANGED #/A/1"]),
    ("message A { int32 a = 1; }", "message A { bool a = 1; }", []),
    ("message A { E a = 1; enum E { Z = 0; } }", "message A { uint64 a = 1; }", ["ENUM_REMOVED #/A/E"]),
    ("message A { string a = 1; }", "message A { bytes a = 1; }", []),
    ("message A { sint32 a = 1; }", "message A { sint64 a = 1; }", []),
    ("message A { fixed32 a = 1; }", "message A { sfixed32 a = 1; }", []),
    ("message A { fixed64 a = 1; }", "message A { sfixed64 a = 1; }", []),
    (
        "message A { optional string a = 1; }",
        "message A { repeated string a = 1; }",
        ["FIELD_STRING_OR_BYTES_LABEL_CHANGED #/A/1"],
    ),
    ("message A { int32 a = 1; }", "message A { repeated int32 a = 1; }", []),
    ("message A {}", "message A {} message B {}", ["MESSAGE_ADDED #/B"]),
    ("message A {} message B {}", "message B {} message A {}", ["MESSAGE_MOVED #/A", "MESSAGE_MOVED #/B"]),
    ("message A {}", "message A { enum E { Z = 0; } }", ["ENUM_ADDED #/A/E"]),
    (
        "enum E { Z = 0; O = 1; }",
        "enum E { Z = 0; P = 1; T = 2; }",
        ["ENUM_CONST_ADDED #/E/2", "ENUM_CONST_CHANGED #/E/1"],
    ),
    ("enum E { Z = 0; O = 1; }", "enum E { Z = 0; }", ["ENUM_CONST_REMOVED #/E/1"]),
    ("message A { int32 a = 1; }", "message A { oneof o { int32 a = 1; } }", ["ONEOF_ADDED #/A/o"]),
    (
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        "message A { int32 a = 1; int32 b = 2; }",
        [
            "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/A/1",
            "ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/A/2",
            "ONEOF_REMOVED #/A/o",
        ],
    ),
    (
        "message A { oneof o { int32 a = 1; } }",
        "message A { oneof o { int32 a = 1; int32 b = 2; } }",
        ["ONEOF_FIELD_ADDED #/A/o/2"],
    ),
    ("message A { oneof o { int32 a = 1; int32 b = 2; } }", "message A {}", ["ONEOF_REMOVED #/A/o"]),
    ("message A { B b = 1; } message B {}", "message A { .B b = 1; } message B {}", []),
    (
        "message A { map<string, B> b = 1; } message B {}",
        "message A { repeated BEntry b = 1; message BEntry { option map_entry = true; string key = 1; "
        "B value = 2; } } message B {}",
        [],
    ),
    ("message A { A a = 1; repeated A b = 2; }", "message A { A a = 1; A b = 2; }", []),
]

INCOMPATIBLE = [
    ("package a; message A {}", "package b; message A {}", ["PACKAGE_CHANGED #/"]),
    ("message A {} message B {}", "message A {}", ["MESSAGE_REMOVED #/B"]),
    ("message A { message B {} }", "message A {}", ["MESSAGE_REMOVED #/A/B"]),
    ("message A { int32 a = 1; }", "message A { string a = 1; }", ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    ("message A { int32 a = 1; }", "message A { sint32 a = 1; }", ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    ("message A { float a = 1; }", "message A { double a = 1; }", ["FIELD_SCALAR_KIND_CHANGED #/A/1"]),
    ("message A { int32 a = 1; }", "message A { A a = 1; }", ["FIELD_KIND_CHANGED #/A/1"]),
    ("message A { int32 a = 1; }", "message A { map<string, int32> a = 1; }", ["FIELD_KIND_CHANGED #/A/1"]),
    ("message A { map<string, int32> a = 1; }", "message A { map<int32, string> a = 1; }",
     ["FIELD_SCALAR_KIND_CHANGED #/A/1"] * 2),
    ("message A { B b = 1; } message B {} message C {}", "message A { C b = 1; } message B {} message C {}",
     ["FIELD_NAMED_TYPE_CHANGED #/A/1"]),
    ("message A { optional int32 a = 1; }", "message A { repeated int32 a = 1; }",
     ["FIELD_NUMERIC_LABEL_CHANGED #/A/1"]),
    ("message A { int32 a = 1; int32 b = 2; }", "message A { oneof o { int32 a = 1; int32 b = 2; } }",
     ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/A/o", "ONEOF_ADDED #/A/o"]),
    ("message A { int32 a = 1; oneof o { int32 b = 2; } }",
     "message A { oneof o { int32 a = 1; int32 b = 2; } }",
     ["FIELD_MOVED_TO_EXISTING_ONEOF #/A/o"]),
    ("message A { oneof o { int32 a = 1; int32 b = 2; } }", "message A { oneof o { int32 a = 1; } }",
     ["ONEOF_FIELD_REMOVED #/A/o/2"]),
    ("message A { oneof o { int32 a = 1; } }", "message A { oneof p { string a = 1; } }",
     ["FIELD_SCALAR_KIND_CHANGED #/A/p/1", "ONEOF_ADDED #/A/p", "ONEOF_REMOVED #/A/o"]),
]  # fmt: skip


@pytest.mark.parametrize(("writer", "reader", "found"), COMPATIBLE)
def test_changes_that_readers_bear(writer: str, reader: str, found: Sequence[str]) -> None:
    old, new = parse(PROTO3 + writer), parse(PROTO3 + reader)
    assert changes(old, new) == list(found)
    assert broken(old, new) == []


@pytest.mark.parametrize(("writer", "reader", "found"), INCOMPATIBLE)
def test_changes_that_break_readers(writer: str, reader: str, found: Sequence[str]) -> None:
    old, new = parse(PROTO3 + writer), parse(PROTO3 + reader)
    assert changes(old, new) == list(found)
    assert broken(old, new)


def test_required_fields_may_neither_come_nor_go() -> None:
    empty, with_required = parse("message A {}"), parse("message A { required int32 a = 1; }")
    assert broken(empty, with_required) == ["REQUIRED_FIELD_ADDED"]
    assert broken(with_required, empty) == ["REQUIRED_FIELD_REMOVED"]


def test_a_group_is_not_a_message() -> None:
    group = parse("message A { optional group B = 1 { optional int32 c = 1; } }")
    assert broken(group, parse("message A { optional group B = 1 { optional string c = 1; } }")) == [
        "FIELD_SCALAR_KIND_CHANGED"
    ]
    message = parse("message A { optional B b = 1; message B { optional int32 c = 1; } }")
    assert broken(group, message) == ["FIELD_KIND_CHANGED"]


def test_sentences_are_confluents() -> None:
    old, new = (
        parse(PROTO3 + "message A { int32 a = 1; } message B {}"),
        parse(PROTO3 + "message A { A a = 1; }"),
    )
    assert [found.description for found in new.incompatibilities(old)] == [
        f"The type of a field at path '#/A/1' in the {READER} schema does not match the {WRITER} schema",
        f"The {READER} schema is missing a MESSAGE type at path '#/B' in the {WRITER} schema",
    ]


def importing(dependency: str, field: str = "d.D d = 1;") -> ProtobufSchema:
    text = f'{PROTO3} import "d.proto"; message A {{ {field} }}'
    return parse(text, [Dependency("d.proto", f"{PROTO3} package d; {dependency}")])


def test_a_field_changes_with_the_file_of_its_type() -> None:
    old, new = importing("message D { int32 a = 1; }"), importing("message D { string a = 1; }")
    assert changes(old, new) == ["FIELD_NAMED_TYPE_CHANGED #/A/1", "FIELD_SCALAR_KIND_CHANGED #/D/1"]
    assert changes(old, importing("message D { bool a = 1; }")) == []


def test_a_type_may_move_into_a_file_of_its_own() -> None:
    old = parse(PROTO3 + "message A { D d = 1; } message D { int32 a = 1; }")
    assert changes(old, importing("message D { int32 a = 1; }")) == ["MESSAGE_REMOVED #/D"]


def test_types_of_other_files_are_compared_once_whatever_uses_them() -> None:
    levels = "".join(f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }} " for n in range(1500))
    old = importing(f"message D {{ M0 m = 1; }} {levels} message M1500 {{ int32 a = 1; }}")
    new = importing(f"message D {{ M0 m = 1; }} {levels} message M1500 {{ string a = 1; }}")
    changed = differences(old._file, old._names, new._file, new._names)
    found = [one.change for one in changed if not one.is_compatible]
    assert found.count("FIELD_SCALAR_KIND_CHANGED") == 1
    assert found.count("FIELD_NAMED_TYPE_CHANGED") == 2 + 2 * 1500


def test_well_known_types_do_not_change() -> None:
    text = PROTO3 + 'import "google/protobuf/struct.proto"; message A { google.protobuf.Value v = 1; }'
    assert changes(parse(text), parse(text)) == []


def test_the_first_differences_are_named() -> None:
    def numbered(of: str) -> ProtobufSchema:
        return parse(f"{PROTO3} message A {{ {' '.join(f'{of} f{n} = {n};' for n in range(1, 1000))} }}")

    found = numbered("string").incompatibilities(numbered("int32"))
    assert len(found) == DIFFERENCES_MAX
    assert "'#/A/1'" in found[0].description


def test_paths_of_differences_become_text_in_messages_alone() -> None:
    def deep(of: str) -> ProtobufSchema:
        fields = "".join(f"{of} f{n} = {n};" for n in range(1, 5000))
        return parse(PROTO3 + "".join(f"message {'A' * 11}{n:02} {{" for n in range(36)) + fields + "}" * 36)

    before, after = deep("int32"), deep("string")
    assert after.incompatibilities(after) == before.incompatibilities(before) == []
    assert peak_bytes(lambda: after.incompatibilities(before)) < 5 << 20
