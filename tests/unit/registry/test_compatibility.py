"""Which versions are compared in which direction, and what the messages say."""

import pytest

from tidelog.registry.compatibility import (
    REASONS_CHARS_MAX,
    REASONS_MAX,
    SHOWN_CHARS_MAX,
    EarlierVersion,
    Level,
    problems,
)
from tidelog.registry.parsed import READER, WRITER, Incompatibility, parse
from tidelog.registry.reserved_fields import Reserved, reserved_names
from tidelog.registry.schema import SchemaType


class Fields:
    """A schema of letters: a reader needs every capital letter that it has from the writer."""

    def __init__(self, text, kind=SchemaType.AVRO):
        self.text = text
        self.type = kind

    def top_level_fields(self):
        return frozenset(self.text)

    def incompatibilities(self, writer, policy):
        missing = [letter for letter in self.text if letter.isupper() and letter not in writer.text]
        return [Incompatibility("MISSING", f"{READER} has {one}, {WRITER} has not", one) for one in missing]


def found(level, text, *earlier):
    """`earlier` texts, the newest first."""
    versions = [EarlierVersion(len(earlier) - at, Fields(one)) for at, one in enumerate(earlier)]
    return problems(Level(level), Fields(text), versions)


@pytest.mark.parametrize(
    ("level", "breaks"),
    [
        ("NONE", []),
        ("BACKWARD", ["newest misses"]),
        ("BACKWARD_TRANSITIVE", ["newest misses", "oldest misses"]),
        ("FORWARD", ["newest needs"]),
        ("FORWARD_TRANSITIVE", ["newest needs", "oldest needs"]),
        ("FULL", ["newest misses", "newest needs"]),
        ("FULL_TRANSITIVE", ["newest misses", "newest needs", "oldest misses", "oldest needs"]),
    ],
)
def test_a_level_says_which_versions_count_in_which_direction(level, breaks):
    cases = {
        "newest misses": ("AB", "A", "AB"),
        "newest needs": ("A", "AB", "A"),
        "oldest misses": ("AB", "AB", "A"),
        "oldest needs": ("A", "A", "AB"),
    }
    assert [name for name, case in cases.items() if found(level, *case)] == breaks


def test_the_first_version_is_compatible():
    assert found("FULL_TRANSITIVE", "A") == []


def test_a_message_says_which_side_and_which_version():
    assert found("BACKWARD", "AB", "A") == [
        "{errorType:'MISSING', description:'new has B, old has not', additionalInfo:'B'}",
        "{oldSchemaVersion: 1}",
        "{oldSchema: 'A'}",
        "{validateFields: 'false', compatibility: 'BACKWARD'}",
    ]
    assert "description:'old has B, new has not'" in found("FORWARD", "A", "AB")[0]


def test_reserved_fields_stay_free_at_any_level():
    reserved = Reserved(now=("A", "x"), before=("x", "y"))
    for level in (Level.NONE, Level.FULL):
        assert problems(level, Fields("AB"), [], reserved=reserved) == [
            "The new schema has reserved field y removed from its metadata which is present in the old "
            "schema's metadata.",
            "The new schema has field that conflicts with the reserved field A.",
            f"{{validateFields: 'true', compatibility: '{level}'}}",
        ]
    assert problems(Level.NONE, Fields("B"), [], reserved=reserved._replace(before=())) == []


def test_names_that_are_reserved():
    metadata = {"properties": {"confluent:reserved": " a,b ,,a"}}
    assert reserved_names(metadata) == ("a", "b")
    assert reserved_names({"tags": {}}) == reserved_names(None) == ()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            SchemaType.AVRO,
            '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"record","name":"I",'
            '"fields":[{"name":"inner","type":"int"}]}},{"name":"b","type":"int"}]}',
        ),
        (SchemaType.JSON, '{"properties":{"a":{"properties":{"inner":{}}},"b":true}}'),
        (
            SchemaType.PROTOBUF,
            'syntax = "proto3"; message A { oneof o { int32 a = 1; } message I { int32 inner = 1; } } '
            "message B { int32 b = 1; }",
        ),
    ],
)
def test_the_fields_at_the_top_of_a_schema(kind, text):
    assert parse(kind, text).top_level_fields() == {"a", "b"}


def test_schemas_without_fields():
    assert parse(SchemaType.AVRO, '"string"').top_level_fields() == frozenset()
    assert parse(SchemaType.JSON, "true").top_level_fields() == frozenset()


def test_only_avro_has_additional_information():
    versions = [EarlierVersion(1, Fields("a", SchemaType.JSON))]
    first = problems(Level.BACKWARD, Fields("B", SchemaType.JSON), versions)[0]
    assert first == '{errorType:"MISSING", description:"new has B, old has not"}'


def test_a_subject_changes_its_kind_only_without_a_level():
    earlier = [EarlierVersion(1, Fields("a", SchemaType.JSON))]
    assert problems(Level.NONE, Fields("a"), earlier) == []
    assert "different schema type" in problems(Level.FORWARD, Fields("a"), earlier)[0]


def test_a_large_schema_is_shown_in_part():
    messages = found("BACKWARD", "B", "a" * (SHOWN_CHARS_MAX + 1))
    assert max(map(len, messages)) < SHOWN_CHARS_MAX + 100


class Broken(Fields):
    """Reads nothing, for so many reasons of so many characters."""

    def __init__(self, reasons, chars):
        super().__init__("")
        self.faults = [Incompatibility("KIND", "x" * chars)] * reasons

    def incompatibilities(self, writer, policy):
        return self.faults


@pytest.mark.parametrize(
    ("reasons", "chars", "given"),
    [
        (REASONS_MAX, 10, REASONS_MAX),
        (10_000, 10, REASONS_MAX),
        (REASONS_MAX, REASONS_CHARS_MAX // 10, 9),
        (2, 2 * REASONS_CHARS_MAX, 1),
    ],
)
def test_the_reasons_are_bounded_in_number_and_length(reasons, chars, given):
    of_broken = problems(Level.BACKWARD, Broken(reasons, chars), [EarlierVersion(1, Fields(""))])
    assert sum("KIND" in one for one in of_broken) == given
    in_both = problems(Level.FULL, Broken(reasons, chars), [EarlierVersion(1, Broken(reasons, chars))])
    assert sum("KIND" in one for one in in_both) == 2 * given
