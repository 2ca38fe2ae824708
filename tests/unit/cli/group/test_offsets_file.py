"""Offsets in files: what is exported can be read again, and what is wrong is named with its place."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.group.offsets_file import parse_offsets, to_csv, to_json
from tidelog.clients.records import TopicPartition

OFFSETS = {TopicPartition("orders", 1): 42, TopicPartition("clicks", 0): 0}
places = st.builds(
    TopicPartition, st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.integers(0, 2**31 - 1)
)


def test_the_forms() -> None:
    assert to_csv(OFFSETS) == "clicks,0,0\norders,1,42\n"
    assert json.loads(to_json(OFFSETS)) == [
        {"topic": "clicks", "partition": 0, "offset": 0},
        {"topic": "orders", "partition": 1, "offset": 42},
    ]


@given(st.dictionaries(places, st.integers(0, 2**63 - 1), min_size=1, max_size=5))
@settings(max_examples=50)
def test_what_is_written_is_read(offsets: dict[TopicPartition, int]) -> None:
    assert parse_offsets(to_csv(offsets), "file") == offsets
    assert parse_offsets(to_json(offsets), "file") == offsets


@pytest.mark.parametrize(
    "text",
    [
        "topic,partition,offset\r\norders,1,42\r\nclicks,0,0\r\n",
        '\n "orders" , 1 , 42 \n\nclicks,0,0',
        '{"group": "g", "partitions": [{"topic": "orders", "partition": 1, "new_offset": 42},'
        ' {"topic": "clicks", "partition": 0, "offset": 0},'
        ' {"topic": "left-alone", "partition": 0, "new_offset": null}]}',
    ],
)
def test_forms_that_others_write(text: str) -> None:
    assert parse_offsets(text.replace(' "orders" ', "orders"), "file") == OFFSETS


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "holds no offsets"),
        ("[]", "holds no offsets"),
        ("{}", "no list"),
        ("[1]", "entry 1"),
        ("[{", "neither JSON nor CSV"),
        ("orders,0", "line 1: 2 columns"),
        ("orders,0,1\norders,x,1", "line 2: the partition is 'x'"),
        ("orders,0,-1", "the offset is '-1'"),
        ("orders,0,1.5", "the offset is '1.5'"),
        ("orders,0,²", "the offset is '²'"),
        ("orders,2147483648,1", "the partition is"),
        ("orders,0," + "9" * 5000, "the offset is"),
        (",0,1", "the topic is missing"),
        ("orders,0,1\norders,0,2", "line 2: orders[0] comes twice"),
        ('[{"topic": 7, "partition": 0, "offset": 1}]', "the topic is missing"),
        ('[{"topic": "t", "partition": true, "offset": 1}]', "the partition is True"),
        ('[{"topic": "t", "partition": 0}]', "the offset is None"),
    ],
)
def test_what_is_wrong_is_named(text: str, complaint: str) -> None:
    with pytest.raises(CliError) as caught:
        parse_offsets(text, "backup")
    assert complaint in caught.value.message
    assert "backup" in caught.value.message
    assert caught.value.code is Exit.USAGE
