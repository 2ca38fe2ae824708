"""kcat as people use it at a prompt: produce, consume in formats, list, query."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.driver import CODECS, Record, Refused, contents
from tests.interop.drivers import kcat as kcat_driver

Kcat = Callable[..., str]


@pytest.fixture
def kcat(open_client: Callable[[str], Any], broker_address: str) -> Kcat:
    open_client("kcat")

    def run(*arguments: str, stdin: str = "") -> str:
        return kcat_driver.kcat(broker_address, *arguments, stdin=stdin.encode()).decode()

    return run


@pytest.fixture
def ten(reference: Any, topic: str) -> str:
    """A topic of ten records, a second apart."""
    start = int(time.time() * 1000) - 60_000
    reference.produce(topic, [Record(b"k%d" % n, b"v%d" % n, timestamp=start + 1_000 * n) for n in range(10)])
    return topic


@pytest.mark.parametrize("codec", CODECS)
def test_lines_from_stdin(kcat: Kcat, reference: Any, topic: str, codec: str) -> None:
    lines = "".join(f"k{n}:value {n}\n" for n in range(500))
    kcat("-P", "-t", topic, "-K", ":", "-z", codec, "-H", "from=kcat", stdin=lines)
    got = reference.consume(topic, 0, 500)
    assert contents(got) == [(b"k%d" % n, b"value %d" % n, (("from", b"kcat"),)) for n in range(500)]


def test_a_file_is_one_message(kcat: Kcat, reference: Any, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "message"
    file.write_bytes(b"two\nlines\x00")
    kcat("-P", "-t", topic, str(file))
    assert reference.consume(topic, 0, 1)[0].value == b"two\nlines\x00"


@pytest.mark.parametrize(
    ("position", "expected"),
    [("beginning", range(10)), ("7", range(7, 10)), ("-3", range(7, 10)), ("end", [])],
)
def test_reading_from_a_position(kcat: Kcat, ten: str, position: str, expected: list[int]) -> None:
    printed = kcat("-C", "-e", "-q", "-t", ten, "-p", "0", "-o", position, "-f", "%o %k=%s\n")
    assert printed.splitlines() == [f"{n} k{n}=v{n}" for n in expected]


def test_reading_between_two_times(kcat: Kcat, reference: Any, ten: str) -> None:
    stamps = [record.timestamp for record in reference.consume(ten, 0, 10)]
    from_fifth = kcat("-C", "-e", "-q", "-t", ten, "-p", "0", "-o", f"s@{stamps[4] - 500}", "-f", "%s\n")
    assert from_fifth.split() == ["v4", "v5", "v6", "v7", "v8", "v9"]
    until = kcat(
        "-C", "-q", "-t", ten, "-p", "0", "-o", f"s@{stamps[2]}", "-o", f"e@{stamps[5]}", "-f", "%s\n"
    )
    assert until.split() == ["v2", "v3", "v4"]


def test_json_output(kcat: Kcat, reference: Any, topic: str) -> None:
    stamp = int(time.time() * 1000)
    reference.produce(topic, [Record(b"k", b"v", (("h", b"1"),), stamp), Record(None, None, (), stamp)])
    first, second = map(json.loads, kcat("-C", "-e", "-q", "-J", "-t", topic, "-o", "beginning").splitlines())
    assert (first["topic"], first["partition"], first["offset"]) == (topic, 0, 0)
    assert (first["tstype"], first["ts"]) == ("create", stamp)
    assert (first["headers"], first["key"], first["payload"]) == (["h", "1"], "k", "v")
    assert (second["key"], second["payload"]) == (None, None)


def test_metadata(kcat: Kcat, reference: Any, make_topic: Callable[..., str], broker_address: str) -> None:
    topic = make_topic(partitions=3)
    found = json.loads(kcat("-L", "-J", "-t", topic))
    [broker] = found["brokers"]
    assert broker["name"].rpartition(":")[2] == broker_address.rpartition(":")[2]
    assert found["controllerid"] == broker["id"]
    [described] = found["topics"]
    assert described["topic"] == topic
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2]
    for partition in described["partitions"]:
        assert partition["leader"] == broker["id"]
        assert partition["replicas"] == partition["isrs"] == [{"id": broker["id"]}]
    assert f'topic "{topic}" with 3 partitions' in kcat("-L")


def test_querying_offsets_by_time(kcat: Kcat, reference: Any, ten: str) -> None:
    stamps = [record.timestamp for record in reference.consume(ten, 0, 10)]
    assert kcat("-Q", "-t", f"{ten}:0:{stamps[6]}").strip() == f"{ten} [0] offset 6"
    assert kcat("-Q", "-t", f"{ten}:0:-1").strip() == f"{ten} [0] offset 10"
    assert kcat("-Q", "-t", f"{ten}:0:-2").strip() == f"{ten} [0] offset 0"


def test_reading_all_partitions(kcat: Kcat, reference: Any, make_topic: Callable[..., str]) -> None:
    topic = make_topic(partitions=4)
    reference.produce(topic, [Record(b"k", b"%d" % n, partition=n % 4) for n in range(40)])
    printed = kcat("-C", "-e", "-q", "-t", topic, "-o", "beginning", "-f", "%p %s\n").splitlines()
    assert sorted(printed) == sorted(f"{n % 4} {n}" for n in range(40))


def test_an_unknown_topic_is_named(kcat: Kcat, topic_name: str) -> None:
    with pytest.raises(Refused, match="Unknown topic or partition"):
        kcat("-C", "-e", "-t", topic_name, "-p", "0")
