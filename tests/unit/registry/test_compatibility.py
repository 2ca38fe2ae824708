"""Which versions are compared in which direction, and what the messages say."""

import pytest

from tidelog.registry.compatibility import SHOWN_CHARS_MAX, EarlierVersion, Level, problems
from tidelog.registry.parsed import READER, WRITER, Incompatibility
from tidelog.registry.schema import SchemaType


class Fields:
    """A schema of letters: a reader needs every capital letter that it has from the writer."""

    def __init__(self, text, kind=SchemaType.AVRO):
        self.text = text
        self.type = kind

    def incompatibilities(self, writer):
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
