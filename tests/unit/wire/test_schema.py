from pathlib import Path

import pytest

import tidelog.wire
from tidelog.base.invariant import InvariantError
from tidelog.wire.apis import FIRST_INTERNAL
from tidelog.wire.generate import TARGET, generated, snake
from tidelog.wire.schema import Versions, parse_message, parse_table

TABLE = (Path(tidelog.wire.__file__).parent / "schema.txt").read_text()


def field(line, message="ThingRequest 7 req 2-9 flex=4"):
    return parse_message(f"{message}\n {line}").fields[0]


def test_the_table_is_whole():
    messages = [message for message in parse_table(TABLE) if message.api_key < FIRST_INTERNAL]
    assert len(messages) == 164
    assert len({message.api_key for message in messages}) == 82
    assert sum(message.versions.last - message.versions.first + 1 for message in messages) == 580


def test_a_request_and_its_response_share_versions():
    by_name = {message.name: message for message in parse_table(TABLE)}
    for message in by_name.values():
        if message.is_request:
            answer = by_name[message.api_name + "Response"]
            assert (answer.versions, answer.first_flexible) == (message.versions, message.first_flexible)


def test_message_line():
    message = parse_message("ProduceRequest 0 req 3-13 flex=9\n acks i16")
    assert (message.name, message.api_key, message.is_request) == ("ProduceRequest", 0, True)
    assert message.versions == Versions(3, 13)
    assert [message.is_flexible(version) for version in (8, 9)] == [False, True]
    assert not parse_message("XResponse 1 resp 0-1 flex=none\n a i8").is_flexible(1)


def test_versions_of_a_field():
    assert field("a i32").versions == Versions(2, 9)
    assert field("a i32 5+").versions == Versions(5, 9)
    assert field("a i32 3-7").versions == Versions(3, 7)
    assert field("a i32 3").versions == Versions(3, 3)


def test_nullable_from_a_version():
    name = field("name str?5+")
    assert [name.nullable_in(version) for version in (4, 5, 9)] == [False, True, True]
    topics = parse_message("XRequest 9 req 1-10 flex=6\n topics []T?2-7 1-7\n  name str").fields[0]
    assert [topics.nullable_in(version) for version in (1, 2, 7)] == [False, True, True]
    assert topics.versions == Versions(1, 7)


@pytest.mark.parametrize(
    ("line", "default"),
    [
        ("a i32", 0),
        ("a i32 5+ =-1", -1),
        ("a bool =True", True),
        ("a bool", False),
        ("a str", ""),
        ("a str?", None),
        ("a str? =None", None),
        ("a str?7+", ""),
        ("a []i32", ()),
        ("a []i32? =None", None),
        ("a uuid", bytes(16)),
        ("a f64", 0.0),
        ("log_append_time i64 =None", -1),
        ("a i64 5+ tag=1 =9223372036854775807", 2**63 - 1),
    ],
)
def test_defaults(line, default):
    assert field(line).default == default


def test_nested_fields_inherit_the_versions_of_their_parent():
    message = parse_message("XRequest 1 req 0-9 flex=4\n a []A 3+\n  b B\n   c i8\n  d i8 5+\n e i8")
    a, e = message.fields
    b, d = a.fields
    assert (a.versions, b.fields[0].versions, d.versions) == (Versions(3, 9), Versions(3, 9), Versions(5, 9))
    assert e.name == "e"


@pytest.mark.parametrize(
    "text",
    [
        "XRequest 1 req 0-9 flex=4\n   deep i8",
        "XRequest 1 req 0-9 flex=4\n a []A",
        "XRequest 1 req 0-9 flex=4\n a i8\n  b i8",
        "XRequest 1 req 0-9 flex=4\n a ???",
        "XRequest 1 req x-9 flex=4\n a i8",
    ],
)
def test_a_broken_table_is_refused(text):
    with pytest.raises(InvariantError):
        parse_message(text)


def test_generated_messages_are_up_to_date():
    on_disk = {path.name: path.read_text() for path in TARGET.glob("*.py")}
    assert on_disk == generated(), "run: python -m tidelog.wire.generate"


def test_snake():
    assert snake("ListOffsets") == "list_offsets"
    assert snake("Produce") == "produce"
