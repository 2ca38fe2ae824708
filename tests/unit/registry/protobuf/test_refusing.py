"""What is no schema: a sentence says why and on which line. Nothing crashes, hangs or eats memory."""

import base64
import random
from time import process_time

import pytest

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.parsing import check_new, parse
from tidelog.registry.schema import Dependency

PROTO3 = 'syntax = "proto3";\n'

FORMS = {
    "": "declares nothing",
    ";": "declares nothing",
    "hello": r"Line 1: expected message, enum, .* found 'hello'",
    'syntax = "proto4";': "'proto2' or 'proto3', not 'proto4'",
    'edition = "x";': "a year like '2023'",
    "message A { int32 a = 1; }": "Line 1: a field of proto2 begins with a label",
    PROTO3 + "message A {\n int32 a = 1\n}": "Line 4: expected ';', found '}'",
    PROTO3 + "message A {": "found the end of the text",
    PROTO3 + "message A { required int32 a = 1; }": "proto3 has no required fields",
    PROTO3 + "message A { int32 a = 0; }": "the number 0 is not between 1 and 536870911",
    PROTO3 + "message A { int32 a = 99999999999999999999; }": "is not between",
    PROTO3 + "message A { int32 a = 1.5; }": "expected an integer",
    PROTO3 + "message A { map<float, int32> a = 1; }": "keys of a map",
    PROTO3 + "message A { repeated map<string, int32> a = 1; }": "a map has no label",
    PROTO3 + "message A { oneof o { repeated int32 a = 1; } }": "a field of a oneof has no label",
    PROTO3 + "message A { group B = 1 {} }": "only proto2 has groups",
    PROTO3 + "message A { int32 a = 1 [(x) = ]; }": "expected the value of an option",
    PROTO3 + "message A { int32 a = 1 [(x) = {a 1}]; }": "expected ':'",
    PROTO3 + "package a; package b;": "a file has one package",
    PROTO3 + 'option java_package = "a\nb";': "Line 2: a string does not end",
    PROTO3 + 'option java_package = "\\q";': "the escape",
    PROTO3 + 'option java_package = "\\UFFFFFFFF";': "is no character",
    PROTO3 + "/* message A {}": "Line 2: a comment does not end",
    PROTO3 + "message Ä {}": "'Ä' has no meaning",
    PROTO3 + "message A {} // \ud800": "half a surrogate pair",
    "\0\1\2": "has no meaning",
}

MEANINGS = {
    "message A { B b = 1; }": "The type 'B', which A names, is not declared. .* add a reference",
    "message A { int32 a = 1; int32 b = 1; }": "(?i)number|duplicate",
    "message A { int32 a = 1; int32 a = 2; }": "(?i)duplicate",
    "message A {} message A {}": "(?i)duplicate",
    "enum E { A = 1; }": "(?i)zero|0",
    "enum E {}": "(?i)value|constant|0",
    "message A { reserved 9 to 12, 1 to 10; int32 a = 12; }": "A reserves the number 12",
    "message A { message B { reserved 'a'; oneof o { int32 a = 1; } } }": "B reserves the name 'a'",
    "enum E { reserved -5 to -1; Z = 0; M = -3; }": "E reserves the number -3",
    "message A { int32 a = 1 [default = 5]; }": "proto3 does not have",
    "message A { int32 a = 19000; }": "Protobuf keeps 19000",
    "message A { int32 a = 1 [deprecated = 7.5]; }": "The value of an option .deprecated. does not fit",
    "service S { rpc R (A) returns (A); }": "The type 'A', which S names",
    "extend A { int32 a = 1; }": "The type 'A'",
}


@pytest.mark.parametrize("text", FORMS)
def test_a_text_that_has_not_the_form(text: str) -> None:
    with pytest.raises(SchemaError, match=FORMS[text]):
        parse(text)


@pytest.mark.parametrize("text", MEANINGS)
def test_declarations_that_do_not_fit_together_are_refused_when_they_are_new(text: str) -> None:
    schema = parse(PROTO3 + text)
    with pytest.raises(SchemaError, match=MEANINGS[text]):
        check_new(schema)


def test_files_that_import_each_other() -> None:
    first = Dependency("a.proto", PROTO3 + 'import "b.proto"; message A { B b = 1; }')
    second = Dependency("b.proto", PROTO3 + 'import "a.proto"; message B { A a = 1; }')
    with pytest.raises(SchemaError, match="in a circle"):
        check_new(parse(PROTO3 + 'import "a.proto"; message C { A a = 1; }', [first, second]))


def test_a_reference_that_is_no_schema_is_named() -> None:
    with pytest.raises(SchemaError, match=r"The reference 'a\.proto' is no Protobuf schema\. Line 1"):
        parse(PROTO3 + 'import "a.proto";', [Dependency("a.proto", "hello")])


HUGE = {
    "messages in messages": "message A {" * 40_000 + "}" * 40_000,
    "values in values": "option (a) = " + "{a:" * 40_000 + "1" + "}" * 40_000 + ";",
    "lists in lists": "option (a) = " + "[" * 40_000 + "]" * 40_000 + ";",
    "parts of an option": "option (a)" + ".a" * 40_000 + " = 1;",
    "parts of a plain option": "option a" + ".a" * 40_000 + " = 1;",
    "a long name": f"message {'A' * 100_000} {{}}",
    "a long name of a type": f"message A {{ {'a.' * 50_000}b c = 1; }}",
    "a long package": f"package {'a.' * 50_000}b; message A {{}}",
    "long names in each other": "".join(f"message {'A' * 200} {{" for _ in range(40)) + "}" * 40,
    "a long number": f"message A {{ int32 a = {'9' * 100_000}; }}",
    "ten megabytes": "message A {" + " " * 10_000_000 + "}",
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE.keys())
def test_huge_texts_are_refused(text: str) -> None:
    with pytest.raises(SchemaError):
        check_new(parse(PROTO3 + text))


def test_a_descriptor_that_is_nested_too_deep() -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name="a.proto", syntax="proto3")
    inner = file.message_type.add(name="A")
    for _ in range(90):
        inner = inner.nested_type.add(name="A")
    with pytest.raises(SchemaError, match="nested more than"):
        parse(base64.b64encode(file.SerializeToString()).decode())


LONG = "".join(f"int32 f{number} = {number + 1};" for number in range(17_000))


def test_a_text_that_could_not_be_read_once_it_is_stored() -> None:
    """Each field gets a line of its own, which is indented."""
    parse(f"{PROTO3} message A {{ {LONG} }}")
    with pytest.raises(SchemaError, match=r"has \d+ characters as it would be stored"):
        parse(PROTO3 + "message A {" * 30 + LONG + "}" * 30)


def test_a_text_that_is_too_long_with_full_names() -> None:
    fields = LONG.replace("int32", "B")
    schema = parse(f"{PROTO3} package {'long.' * 20}p; message B {{}} message A {{ {fields} }}")
    with pytest.raises(SchemaError, match="as it would be stored"):
        schema.normalized()


def test_the_work_grows_with_the_text_alone() -> None:
    fields = "".join(f"optional M{n % 500} f{n} = {n + 20_000}; " for n in range(2000))
    types = "".join(
        f"message M{n} {{ map<string, M{n}> m = 1; oneof o {{ M{n} a = 2; }} }}" for n in range(500)
    )
    began = process_time()
    schema = parse(f"{PROTO3} package a.b.c; message A {{ {fields} }} {types}")
    check_new(schema)
    assert schema.incompatibilities(schema) == []
    assert len(parse(schema.formatted("serialized")).text) > 100_000
    assert process_time() - began < 10  # a third of a second here


SAMPLE = """syntax = "proto3"; package p; message A { int32 a = 1; map<string, A> m = 2; optional B b = 3;
  enum B { Z = 0; } oneof o { string s = 4 [(x) = {a: [1, 2]}]; } reserved 7 to max; }
  service S { rpc R (A) returns (stream A); }"""


def test_mutated_texts_end_in_a_schema_or_a_sentence() -> None:
    chance = random.Random(7)
    pieces = [*"{}[]();=,.\"'\\<>/*-+ \n09aA", "", "optional ", "message ", "map<", "to max"]
    accepted = 0
    for _ in range(400):
        text = list(SAMPLE)
        for _ in range(chance.randint(1, 3)):
            text[chance.randrange(len(text))] = chance.choice(pieces)
        try:
            schema = parse("".join(text))
            check_new(schema)
        except SchemaError:
            continue
        accepted += 1
        assert parse(schema.text).text == schema.text
        assert schema.incompatibilities(schema) == []
    assert accepted > 5


def test_mutated_descriptors_end_in_a_schema_or_a_sentence() -> None:
    chance = random.Random(8)
    sample = base64.b64decode(parse(SAMPLE).formatted("serialized"))
    accepted = 0
    for _ in range(400):
        data = bytearray(sample)
        for _ in range(chance.randint(1, 2)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            schema = parse(base64.b64encode(data).decode())
            check_new(schema)
        except SchemaError:
            continue
        accepted += 1
        assert parse(schema.text).text == schema.text
    assert accepted > 5
