"""Confluent's canonical text: its order and layout, and that it says the same when it is parsed again."""

import base64

import pytest

from tidelog.registry.parsed import SchemaError
from tidelog.registry.protobuf.parsing import parse
from tidelog.registry.schema import Dependency

ORDER = """
syntax = 'proto3';
package shop.orders; import public "b.proto";
import "google/protobuf/timestamp.proto"; /* several
lines */
option java_package = "org" ".shop";
enum Kind { option allow_alias = true; NONE = 0; NIL = 0 [deprecated = true]; reserved 5 to max; }
message Order {
  message Line { string sku = 1; enum Unit { PIECE = 0; } repeated Unit units = 2; };
  option deprecated = true;
  optional string id = 1
    [json_name = "ID", deprecated = true, (tag) = {a: 1 b { c: "it's" } d: [TRUE, -inf]}];
  map < string , Line > lines = 2;
  google.protobuf.Timestamp at = 0x10;
  oneof payment { option (o).x = 1; string card = 3; bytes cash = 4; }
  reserved 7, 9 to 11, 100 to max; reserved "old";
}
service Orders { option deprecated = true; rpc Get(Order) returns (stream .shop.orders.Order);
  rpc Put(stream Order) returns (Order) { option idempotency_level = IDEMPOTENT; } }
"""

# Confluent indents blank lines inside a block, too.
CANONICAL = """syntax = "proto3";
package shop.orders;

import "google/protobuf/timestamp.proto";
import public "b.proto";

option java_package = "org.shop";

message Order {
  reserved 7, 9 to 11, 100 to max;
  reserved "old";

  option deprecated = true;

  optional string id = 1 [
    deprecated = true,
    (tag) = {
      a: 1,
      b: {
        c: "it\\'s"
      },
      d: [
        TRUE,
        -inf
      ]
    },
    json_name = "ID"
  ];
  map<string, Line> lines = 2;
  google.protobuf.Timestamp at = 16;

  oneof payment {
    option (o).x = 1;
\x20\x20
    string card = 3;
    bytes cash = 4;
  }

  message Line {
    string sku = 1;
    repeated Unit units = 2;
\x20\x20
    enum Unit {
      PIECE = 0;
    }
  }
}
enum Kind {
  reserved 5 to max;
  option allow_alias = true;
  NONE = 0;
  NIL = 0 [deprecated = true];
}

service Orders {
  option deprecated = true;

  rpc Get (Order) returns (stream .shop.orders.Order);
  rpc Put (stream Order) returns (Order) {
    option idempotency_level = IDEMPOTENT;
  };
}
"""


def test_the_text_is_confluents() -> None:
    assert parse(ORDER).text == CANONICAL


def test_the_text_is_its_own_canonical_text() -> None:
    assert parse(CANONICAL).text == CANONICAL


PROTO2 = """syntax = "proto2";

message Old {
  optional string name = 1 [default = "a\\"b"];
  optional bytes raw = 2 [default = "\\377\\000z"];
  optional double most = 3 [default = inf];
  required Kind kind = 4 [default = B];
  repeated int32 numbers = 5 [packed = true];

  optional group Result = 6 {
    required string url = 1;
  }

  extensions 100 to 199, 500 to max;

  extend Old {
    optional Old more = 100;
  }

  enum Kind {
    A = 1;
    B = -2;
  }
}

extend Old {
  optional int32 extra = 101;
}
"""


def test_proto2_keeps_labels_defaults_groups_and_extensions() -> None:
    assert parse(PROTO2).text == PROTO2


def test_without_syntax_the_text_begins_with_its_first_section() -> None:
    assert parse("message A { optional int32 b = 1; }").text == "\nmessage A {\n  optional int32 b = 1;\n}\n"


EDITION = """edition = "2023";

option features.field_presence = IMPLICIT;

message A {
  reserved gone;

  int32 a = 1 [features.field_presence = EXPLICIT];
}
"""


def test_an_edition_is_kept() -> None:
    schema = parse(EDITION)
    assert schema.text == EDITION
    assert schema.descriptors()[-1].options.features.field_presence == 2


def test_a_descriptor_becomes_text_with_full_names_and_explicit_map_entries() -> None:
    schema = parse(parse(ORDER).formatted("serialized"))
    assert "  repeated .shop.orders.Order.LinesEntry lines = 2;\n" in schema.text
    assert "  message LinesEntry {\n    option map_entry = true;\n  \n    string key = 1;\n" in schema.text
    assert parse(schema.text).text == schema.text


@pytest.mark.parametrize("text", [ORDER, PROTO2, EDITION])
def test_a_descriptor_means_what_its_text_means(text: str) -> None:
    other = [Dependency("b.proto", 'syntax = "proto3"; message B {}')]
    plain = parse(text).formatted(
        "ignore_extensions"
    )  # a descriptor leaves out options of unknown extensions
    schema = parse(plain, other)
    assert parse(schema.formatted("serialized"), other).normalized().text == schema.normalized().text


def test_an_import_that_is_not_known_stays_in_the_text_and_out_of_the_descriptor() -> None:
    schema = parse(ORDER)
    assert 'import public "b.proto";' in schema.text
    assert list(schema.descriptors()[-1].dependency) == ["google/protobuf/timestamp.proto"]


def test_options_of_known_extensions_survive_a_descriptor() -> None:
    meta = 'syntax = "proto3"; import "confluent/meta.proto"; '
    schema = parse(
        meta
        + 'message A { string a = 1 [(confluent.field_meta) = {tags: "PII" params: {key: "k" value: "v"}}]; }'
    )
    again = parse(schema.formatted("serialized"))
    assert again.normalized().text == schema.normalized().text
    assert 'tags: "PII"' in again.normalized().text


def test_options_of_a_reference_survive_a_descriptor() -> None:
    options = Dependency(
        "options.proto",
        'syntax = "proto3"; package o; import "google/protobuf/descriptor.proto"; '
        "extend google.protobuf.FieldOptions { Rule rule = 50000; repeated int32 numbers = 50001; } "
        "message Rule { bool on = 1; bytes raw = 2; Kind kind = 3; Rule inner = 4; "
        "enum Kind { K = 0; L = 1; } }",
    )
    text = (
        'syntax = "proto3"; import "options.proto"; message A { string a = 1 [(o.rule) = '
        '{on: true, raw: "\\377", kind: L, inner {kind: L}}, (o.numbers) = 1, (o.numbers) = 2]; }'
    )
    schema = parse(text, [options])
    encoded = Dependency(options.name, parse(options.text).formatted("serialized"))
    again = parse(schema.formatted("serialized"), [encoded])
    assert again.normalized().text == schema.normalized().text
    assert 'raw: "\\377"' in again.text
    assert "(o.numbers) = 1,\n    (o.numbers) = 2\n" in again.text


def test_a_format_that_is_not_known_gives_the_text() -> None:
    assert parse(ORDER).formatted("graphical") == CANONICAL


def test_without_extensions_confluents_options_stay() -> None:
    text = (
        'syntax = "proto2"; import "confluent/meta.proto"; message A { extensions 5 to 9; '
        "oneof o { option (x) = 1; "
        'string s = 1 [(a) = 1, deprecated = true, (confluent.field_meta).doc = "d"]; } } '
        "extend A { optional int32 e = 5; }"
    )
    assert parse(text).formatted("ignore_extensions") == (
        'syntax = "proto2";\n\nimport "confluent/meta.proto";\n\nmessage A {\n  oneof o {\n'
        '    string s = 1 [\n      deprecated = true,\n      (confluent.field_meta).doc = "d"\n'
        "    ];\n  }\n}\n"
    )


def test_base64_that_is_no_descriptor_is_refused() -> None:
    with pytest.raises(SchemaError, match="not of a serialized FileDescriptorProto"):
        parse(base64.b64encode(b"\xff\xff\xff\xff").decode())


def test_a_descriptor_whose_names_no_text_can_say_is_refused() -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    file = FileDescriptorProto(name="a.proto", syntax="proto3")
    file.message_type.add(name="A {} message B")
    with pytest.raises(SchemaError, match="has a name that is no name"):
        parse(base64.b64encode(file.SerializeToString()).decode())
