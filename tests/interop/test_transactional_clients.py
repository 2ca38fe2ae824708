"""Transactions of every client: all or nothing, in order, with offsets; and how an older one is refused."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.driver import Refused
from tests.interop.transactor import Placed
from tests.interop.waiting import eventually

PARTITIONS = (0, 1, 2)
FENCED = {47, 90}
"""INVALID_PRODUCER_EPOCH and PRODUCER_FENCED, by the age of the client."""
FENCED_IN_LIBRDKAFKA = -144
LATE = {47, 48, 49, 53, 90, 120, -144}

Open = Callable[..., Any]


@pytest.fixture
def open_transactor(client: Any, topic_name: str) -> Iterator[Open]:
    """Of the client under test; ids that no other test has."""
    opened: list[Any] = []

    def open_one(id: str = "", **more: Any) -> Any:
        opened.append(client.open_transactor(f"{topic_name}-{id}", **more))
        return opened[-1]

    yield open_one
    for transactor in opened:
        transactor.close()


def everywhere(topic: str, word: str, each: int = 2) -> list[Placed]:
    """Values that name their place and say which came first."""
    return [(topic, partition, f"{word} {partition} {n}") for partition in PARTITIONS for n in range(each)]


def values(records: list[Placed], partition: int) -> list[str]:
    return [value for _, index, value in records if index == partition]


def in_partition(found: list[tuple[int, str]], partition: int) -> list[str]:
    return [value for index, value in found if index == partition]


@pytest.mark.needs("open_transactor")
class TestWriting:
    def test_all_or_nothing(
        self, reference: Any, open_transactor: Open, make_topic: Callable[..., str]
    ) -> None:
        """Over two topics; an empty one does no harm."""
        topics = [make_topic(partitions=3), make_topic(partitions=3)]
        producer = open_transactor()
        expected: dict[str, list[Placed]] = {topic: [] for topic in topics}
        for word, commits in (("one", True), ("two", False), ("none", True), ("three", True)):
            producer.begin()
            for topic in topics if word != "none" else ():
                records = everywhere(topic, word)
                producer.send(records)
                expected[topic] += records if commits else []
            producer.commit() if commits else producer.abort()
        for topic in topics:
            found = reference.read_committed(topic, PARTITIONS, len(expected[topic]))
            for partition in PARTITIONS:
                assert in_partition(found, partition) == values(expected[topic], partition)

    def test_nothing_is_read_before_the_commit(
        self, reference: Any, open_transactor: Open, topic: str
    ) -> None:
        first, second = open_transactor("first"), open_transactor("second")
        first.begin()
        first.send([(topic, 0, "first")])
        second.begin()
        second.send([(topic, 0, "second")])
        second.commit()
        assert stable_end(reference, topic) == 0, "what is behind an open transaction waits for it"
        first.commit()
        eventually(lambda: stable_end(reference, topic) == 4)
        assert reference.read_committed(topic, [0], 2) == [(0, "first"), (0, "second")]

    def test_a_newer_producer_fences_an_older(
        self, reference: Any, open_transactor: Open, topic: str
    ) -> None:
        """As one that comes back after a crash; what the older left open is aborted."""
        older = open_transactor()
        older.begin()
        older.send([(topic, 0, "lost")])
        newer = open_transactor()
        newer.begin()  # only now does KafkaJS ask for an epoch
        with pytest.raises(Refused) as refused:
            older.commit()
        assert refused.value.code in FENCED | {FENCED_IN_LIBRDKAFKA}
        newer.send([(topic, 0, "kept")])
        newer.commit()
        assert reference.read_committed(topic, [0], 1) == [(0, "kept")]

    def test_a_transaction_that_takes_too_long_is_aborted(
        self, reference: Any, open_transactor: Open, topic: str
    ) -> None:
        slow, other = open_transactor("slow", timeout_ms=1000), open_transactor("other")
        slow.begin()
        slow.send([(topic, 0, "lost")])
        other.begin()
        other.send([(topic, 0, "kept")])
        other.commit()
        assert reference.read_committed(topic, [0], 1) == [(0, "kept")], "nobody waits for ever"
        with pytest.raises(Refused) as refused:
            slow.commit()
        assert refused.value.code in LATE, refused.value
        assert reference.read_committed(topic, [0], 1) == [(0, "kept")]

    @pytest.mark.parametrize("commit", [True, False])
    def test_offsets_and_output_agree(
        self,
        reference: Any,
        open_client: Callable[[str], Any],
        open_transactor: Open,
        make_topic: Callable[..., str],
        commit: bool,
    ) -> None:
        source, target = make_topic(partitions=3), make_topic(partitions=3)
        feed = reference.open_transactor(f"feed-{source}")
        feed.begin()
        feed.send(everywhere(source, "in", each=3))
        feed.commit()
        producer, group = open_transactor(), f"group-of-{source}"
        producer.copy(source, target, group, 9, commit=commit)
        offsets = open_client("kafka-python").group_offsets(group)
        committed = {place: one.offset for place, one in offsets.items() if one.offset >= 0}
        ends = {(source, partition): 3 for partition in PARTITIONS}
        if commit:
            found = reference.read_committed(target, PARTITIONS, 9)
            for partition in PARTITIONS:
                assert in_partition(found, partition) == [f"in {partition} {n}" for n in range(3)]
            # Some commit the position after the marker, where the next record will be.
            assert committed.keys() == ends.keys()
            assert all(ends[place] <= offset <= ends[place] + 1 for place, offset in committed.items())
        else:
            assert committed == {}
            feed.begin()
            feed.send(everywhere(target, "after"))
            feed.commit()
            found = reference.read_committed(target, PARTITIONS, 6)
            assert {value.split()[0] for _, value in found} == {"after"}


@pytest.mark.parametrize("name", ["java", "franz-go"])
def test_after_a_timeout_an_abort_lets_the_producer_go_on(
    reference: Any, open_client: Callable[[str], Any], topic: str, name: str
) -> None:
    """In the second protocol: nobody has taken its place."""
    slow = open_client(name).open_transactor(f"slow-{topic}", timeout_ms=500)
    slow.begin()
    slow.send([(topic, 0, "lost")])
    eventually(lambda: stable_end(reference, topic) == 2)
    slow.abort()
    slow.begin()
    slow.send([(topic, 0, "kept")])
    slow.commit()
    slow.close()
    assert reference.read_committed(topic, [0], 1) == [(0, "kept")]


def stable_end(reference: Any, topic: str, partition: int = 0) -> int:
    return int(reference.stable_end(topic, partition))


@pytest.mark.needs("open_transactor", "takes_many")
def test_many_partitions(reference: Any, open_transactor: Open, make_topic: Callable[..., str]) -> None:
    topic = make_topic(partitions=40)
    producer = open_transactor()
    for word in ("aborted", "kept"):
        producer.begin()
        producer.send([(topic, partition, f"{word} {n}") for partition in range(40) for n in range(50)])
        producer.commit() if word == "kept" else producer.abort()
    found = reference.read_committed(topic, range(40), 2000)
    for partition in range(40):
        assert in_partition(found, partition) == [f"kept {n}" for n in range(50)]


@pytest.fixture(scope="module")
def written(open_client: Callable[[str], Any]) -> Iterator[tuple[str, dict[int, list[str]]]]:
    """Transactions of both protocols that overlap; the last ones are committed in every partition."""
    reference, java = open_client("confluent"), open_client("java")
    topic = f"overlapping-{uuid.uuid4().hex[:12]}"
    reference.create_topic(topic, 3)
    eventually(lambda: len(reference.describe_topic(topic)) == 3)
    writers = {
        "v1": reference.open_transactor(f"v1-{topic}"),
        "v2": java.open_transactor(f"v2-{topic}"),
        "more": java.open_transactor(f"more-{topic}"),
    }
    expected: dict[int, list[str]] = {partition: [] for partition in PARTITIONS}
    for number in range(12):
        committing = {word for index, word in enumerate(writers) if (number + index) % 3 or number == 11}
        sends = [(word, part) for part in range(2) for word in writers]
        for writer in writers.values():
            writer.begin()
        for word, part in sends:
            records = [(topic, p, f"{word} {number}.{part} {p}") for p in PARTITIONS]
            writers[word].send(records)
            for _, partition, value in records if word in committing else ():
                expected[partition].append(value)
        for word, writer in writers.items():
            writer.commit() if word in committing else writer.abort()
    yield topic, expected
    for writer in writers.values():
        writer.close()
    reference.delete_topic(topic)


@pytest.mark.needs("read_committed")
def test_readers_of_committed_records(client: Any, written: tuple[str, dict[int, list[str]]]) -> None:
    topic, expected = written
    found = client.read_committed(topic, PARTITIONS, sum(map(len, expected.values())))
    for partition in PARTITIONS:
        assert in_partition(found, partition) == expected[partition]
