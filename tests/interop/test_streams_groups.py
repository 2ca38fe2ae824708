"""Kafka Streams with its new rebalance protocol (KIP-1071): two instances count words, exactly once."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.interop.broker_process import BrokerProcess
from tests.interop.command_line import Tidelog
from tests.interop.driver import Record
from tests.interop.streams_instance import StreamsInstance
from tests.interop.waiting import eventually

CONFIGS = "kafka.admin.ConfigCommand"
STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
PARTITIONS = 2
LINES = 60
BOTH = ["ACTIVE:0:[0];1:[0];STANDBY:1:[1];", "ACTIVE:0:[1];1:[1];STANDBY:1:[0];"]

Counts = dict[str, int]


class Output:
    """What the application has committed; each word's counts only ever rise."""

    def __init__(self, address: str, topic: str) -> None:
        settings = {"bootstrap.servers": address, "group.id": topic, "isolation.level": "read_committed"}
        self._consumer = Consumer(settings | {"enable.auto.commit": False})
        self._consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        self.seen: dict[str, list[int]] = {}

    def counts(self) -> Counts:
        for message in self._consumer.consume(1000, timeout=0.2):
            assert message.error() is None
            self.seen.setdefault(message.key().decode(), []).append(int.from_bytes(message.value(), "big"))
        return {word: counts[-1] for word, counts in self.seen.items()}

    def close(self) -> None:
        self._consumer.close()


def write(reference: Any, topic: str) -> Counts:
    lines = [f"one two{number % 3} three" for number in range(LINES)]
    reference.produce(
        topic, [Record(None, line.encode(), partition=n % PARTITIONS) for n, line in enumerate(lines)]
    )
    return Counter(word for line in lines for word in line.split())


class Application:
    """Its topics, its group with a standby for each task, and its instances."""

    def __init__(self, broker: BrokerProcess, java: Any, topics: tuple[str, str], group: str) -> None:
        self.broker, self.java, self.topics, self.group = broker, java, topics, group
        wanted = "streams.num.standby.replicas=1,streams.session.timeout.ms=2000"
        name = ["--entity-type", "groups", "--entity-name", group]
        self.tool(CONFIGS, "--alter", *name, "--add-config", wanted)

    def tool(self, name: str, *options: str) -> str:
        return str(self.java.tool(name, "--bootstrap-server", self.broker.address, *options))

    def groups(self, *options: str) -> str:
        return self.tool(STREAMS_GROUPS, *options, "--group", self.group)

    def tasks(self) -> list[str]:
        """Of each member."""
        lines = re.findall(
            r"\s((?:ACTIVE|STANDBY):.*)$", self.groups("--describe", "--members"), re.MULTILINE
        )
        return sorted(re.sub(r"\s", "", line) for line in lines)

    def start(self, directory: Path) -> StreamsInstance:
        return StreamsInstance(self.broker.address, self.group, self.topics, directory)

    def is_listed(self) -> bool:
        return self.group in self.tool(STREAMS_GROUPS, "--list").splitlines()

    def check_the_log(self) -> None:
        """Kafka's tool reads every record of the group."""
        if self.broker.data is None:
            return
        files = [file for file in self.broker.data.glob("__consumer_offsets-*/*.log") if file.stat().st_size]
        options = ["--offsets-decoder", "--print-data-log", "--files", ",".join(map(str, files))]
        printed = self.java.tool(DUMP, *options)
        mine = [line for line in printed.splitlines() if f'"groupId":"{self.group}"' in line]
        kinds = {int(kind) for line in mine for kind in re.findall(r'"type":"(\d+)"', line)}
        assert {17, 19, 20, 21, 22, 23} <= kinds
        assert f'"name":"{self.group}-counts-changelog"' in printed


@pytest.fixture
def application(
    broker: BrokerProcess,
    open_client: Callable[[str], Any],
    make_topic: Callable[..., str],
    group: str,
) -> Application:
    topics = make_topic(partitions=PARTITIONS), make_topic(partitions=PARTITIONS)
    return Application(broker, open_client("java"), topics, group)


def test_words_are_counted_once_though_an_instance_is_killed(
    application: Application, tidelog: Tidelog, reference: Any, opened: list[Any], tmp_path: Path
) -> None:
    one, two = (application.start(tmp_path / name) for name in ("one", "two"))
    output = Output(application.broker.address, application.topics[1])
    opened.extend((one, two, output))
    one.wait_until_it_runs()
    two.wait_until_it_runs()
    expected = write(reference, application.topics[0])
    eventually(lambda: output.counts() == expected, 30)
    eventually(lambda: application.tasks() == BOTH, 30)
    assert application.is_listed()
    assert re.search(r"\s+Stable\s+2", application.groups("--describe", "--state"))
    check_commands(tidelog, application)
    one.kill()
    expected = expected + write(reference, application.topics[0])
    eventually(lambda: output.counts() == expected, 60)
    for counts in output.seen.values():
        assert all(before < after for before, after in pairwise(counts)), "something was counted again"
    assert application.tasks() == ["ACTIVE:0:[0,1];1:[0,1];"]
    application.check_the_log()
    assert "is not EMPTY" in application.groups("--delete")
    two.stop()
    printed = application.groups("--delete", "--delete-all-internal-topics")
    assert len(re.findall("was successful", printed)) == 2  # of the group, and of its topics
    assert not application.is_listed()
    eventually(lambda: not any(name.startswith(application.group) for name in reference.list_topics()))


def check_commands(tidelog: Tidelog, application: Application) -> None:
    group = application.group
    listed = tidelog("--json", "group", "list", "-t", "streams").json
    assert {"group": group, "state": "Stable", "type": "Streams", "simple": False} in listed
    [described] = tidelog("--json", "group", "describe", group).json
    read = {application.topics[0], f"{group}-counts-repartition"}
    assert {row["topic"] for row in described["partitions"]} == read
    assert {len(member["assignment"]) for member in described["members"]} == {2}
    assert (described["assignor"], described["lag"]) == ("sticky", 0)
