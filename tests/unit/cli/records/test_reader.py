"""What ends the reading of a partition, with a consumer that plays a script."""

from typing import Any, cast

from confluent_kafka import KafkaError

from tidelog.cli.connection import Cluster
from tidelog.cli.records.reader import Reader
from tidelog.cli.records.spans import Span
from tidelog.cli.session import Session


class Message:
    """A record, or the end of its partition at `offset`."""

    def __init__(self, offset: int, *, is_end: bool = False) -> None:
        self._offset, self._is_end = offset, is_end

    def error(self) -> Any:
        return KafkaError(KafkaError._PARTITION_EOF) if self._is_end else None

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"v"

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000


class ScriptedCluster:
    def __init__(self, *script: Message) -> None:
        self.session = Session(servers="nowhere:1")
        self.script = list(script)

    def consumer(self, **settings: object) -> "ScriptedCluster":
        return self

    def list_topics(self, topic: str, timeout: float) -> None:
        pass

    def assign(self, places: object) -> None:
        pass

    def poll(self, timeout: float) -> Message:
        return self.script.pop(0)


def offsets_read(cluster: ScriptedCluster, span: Span, *, follow: bool = False) -> list[int]:
    reader = Reader(cast(Cluster, cluster), "t", [span], "read_committed", keep_waiting=follow)
    return [record.offset for record in reader.records()]


def test_the_last_record_of_the_span_ends_it() -> None:
    assert offsets_read(ScriptedCluster(Message(0), Message(1)), Span(0, 0, 2)) == [0, 1]


def test_the_end_of_the_partition_ends_a_span_whose_last_offsets_hold_no_records() -> None:
    cluster = ScriptedCluster(Message(0), Message(2, is_end=True))
    assert offsets_read(cluster, Span(0, 0, 2)) == [0]


def test_an_end_short_of_the_span_is_a_new_leaders_and_is_waited_out() -> None:
    cluster = ScriptedCluster(Message(0, is_end=True), Message(0), Message(1))
    assert offsets_read(cluster, Span(0, 0, 2)) == [0, 1]


def test_who_follows_to_a_place_ahead_waits_for_it() -> None:
    cluster = ScriptedCluster(Message(0), Message(1, is_end=True), Message(1), Message(2))
    assert offsets_read(cluster, Span(0, 0, 3), follow=True) == [0, 1, 2]
