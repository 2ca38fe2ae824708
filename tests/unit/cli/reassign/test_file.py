"""Plans in Kafka's JSON: what is written can be read, and what is wrong is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.reassign.file import as_file, parse, read_file
from tidelog.clients.records import TopicPartition

PLAN = {TopicPartition("b", 1): (3, 1), TopicPartition("a", 0): (1, 2)}


def entry(**changed: Any) -> dict[str, Any]:
    return {"topic": "t", "partition": 0, "replicas": [1, 2], **changed}


def test_what_is_written_can_be_read() -> None:
    document = as_file(PLAN)
    assert document["partitions"][0] == {"topic": "a", "partition": 0, "replicas": [1, 2]}
    assert parse(json.loads(json.dumps(document))) == PLAN


def test_kafkas_own_files_are_read() -> None:
    text = (
        '{"version":1,"partitions":[{"topic":"foo","partition":0,"replicas":[5,6],"log_dirs":["any","any"]}]}'
    )
    assert parse(json.loads(text)) == {TopicPartition("foo", 0): (5, 6)}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], 'a list of "partitions"'),
        ({"version": 1}, 'a list of "partitions"'),
        ({"version": 2, "partitions": [entry()]}, "its version is 2"),
        ({"partitions": []}, "names no partition"),
        ({"partitions": [1]}, "entry 0 is no object"),
        ({"partitions": [entry(topic="")]}, 'entry 0 has no "topic"'),
        ({"partitions": [entry(partition="0")]}, 'no "partition" that is a number'),
        ({"partitions": [entry(partition=True)]}, 'no "partition" that is a number'),
        ({"partitions": [entry(replicas=[])]}, r"t\[0\] has no list of broker numbers"),
        ({"partitions": [entry(replicas=[1, -2])]}, r"t\[0\] has no list of broker numbers"),
        ({"partitions": [entry(replicas=[1, 1])]}, "names a broker twice"),
        ({"partitions": [entry(), entry()]}, r"t\[0\] is there twice"),
        ({"partitions": [entry(log_dirs=["/disk1"])]}, "names log dirs"),
    ],
)
def test_what_is_wrong_is_named(document: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse(document)


def test_files_that_are_no_plan(tmp_path: Path) -> None:
    with pytest.raises(CliError) as caught:
        read_file(str(tmp_path / "nope.json"))
    assert caught.value.code is Exit.NOT_FOUND
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(CliError, match=r"bad\.json is not a plan") as caught:
        read_file(str(tmp_path / "bad.json"))
    assert caught.value.code is Exit.USAGE
