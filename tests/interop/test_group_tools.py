"""Kafka's own tools for groups: kafka-consumer-groups, the console consumer, and the dump of their log."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.broker_process import BrokerProcess
from tests.interop.driver import Record
from tests.interop.group_member import Committed, Writer, wait_until_read
from tests.interop.waiting import eventually

CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
DUMP = "org.apache.kafka.tools.DumpLogSegments"

Tool = Callable[..., str]


@pytest.fixture
def tool(open_client: Callable[[str], Any], broker_address: str) -> Tool:
    java = open_client("java")
    return lambda name, *arguments: java.tool(name, "--bootstrap-server", broker_address, *arguments)


def rows(printed: str) -> list[list[str]]:
    """The lines of a table under its header, as words."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    [header] = [index for index, line in enumerate(lines) if line[0] == "GROUP"]
    return lines[header + 1 :]


def test_kafka_consumer_groups(
    tool: Tool, reference: Any, make_topic: Callable[..., str], opened: list[Any]
) -> None:
    topic = group = make_topic(partitions=2)
    writer = Writer(reference, topic, 2)
    writer.write(10)
    member = reference.join_group(group, topic)
    opened.append(member)
    wait_until_read([member], writer.written)
    eventually(lambda: len(reference.group_offsets(group)) == 2)
    assert group in tool(CONSUMER_GROUPS, "--list").splitlines()
    assert re.search(rf"{group}\s+Stable", tool(CONSUMER_GROUPS, "--list", "--state", "stable"))
    about = ["--group", group]
    described = rows(tool(CONSUMER_GROUPS, "--describe", *about))
    assert sorted(line[1:6] for line in described) == [[topic, str(n), "10", "10", "0"] for n in range(2)]
    assert {line[8] for line in described} == {"confluent"}
    [state] = rows(tool(CONSUMER_GROUPS, "--describe", "--state", *about))
    assert state[-3:] == ["range", "Stable", "1"]
    [shown] = rows(tool(CONSUMER_GROUPS, "--describe", "--members", "--verbose", *about))
    assert f"{topic}:0,1" in shown
    assert "The group is not empty" in tool(CONSUMER_GROUPS, "--delete", *about)
    member.close()
    reset = [*about, "--topic", topic, "--reset-offsets"]
    assert {line[-1] for line in rows(tool(CONSUMER_GROUPS, *reset, "--to-earliest", "--dry-run"))} == {"0"}
    tool(CONSUMER_GROUPS, *reset, "--shift-by", "-4", "--execute")
    assert {one.offset for one in reference.group_offsets(group).values()} == {6}
    tool(CONSUMER_GROUPS, *reset, "--to-earliest", "--execute")
    assert {one.offset for one in reference.group_offsets(group).values()} == {0}
    lags = rows(tool(CONSUMER_GROUPS, "--describe", *about))
    assert {line[5] for line in lags} == {"10"}
    tool(CONSUMER_GROUPS, "--delete-offsets", *about, "--topic", f"{topic}:1")
    assert set(reference.group_offsets(group)) == {(topic, 0)}
    assert "successful" in tool(CONSUMER_GROUPS, "--delete", *about)
    assert group not in tool(CONSUMER_GROUPS, "--list").splitlines()
    assert "GroupIdNotFoundException" in tool(CONSUMER_GROUPS, "--delete", *about)


def test_the_console_consumer_in_a_group(tool: Tool, reference: Any, topic: str, group: str) -> None:
    reference.produce(topic, [Record(b"k", b"%d" % n) for n in range(6)])
    options = ["--topic", topic, "--group", group, "--max-messages", "3", "--timeout-ms", "20000"]
    first = tool(CONSOLE_CONSUMER, *options, "--from-beginning")
    second = tool(CONSOLE_CONSUMER, *options)
    assert first.split() + second.split() == [str(n) for n in range(6)]
    assert reference.group_offsets(group)[topic, 0].offset == 6


def test_kafka_dump_log_reads_the_offsets_topic(
    broker: BrokerProcess, reference: Any, topic: str, opened: list[Any], open_client: Callable[[str], Any]
) -> None:
    if broker.data is None:
        pytest.skip("the log dir of the broker is not known: set TIDELOG_INTEROP_DATA")
    group = f"dumped-{topic}"
    reference.produce(topic, [Record(b"k", b"v")])
    opened.append(reference.join_group(group, topic, instance_id="static", auto_commit=False))
    wait_until_read(opened, [(0, 0)])
    opened[0].commit({0: Committed(1, "words")})
    segments = sorted(
        segment for segment in broker.data.glob("__consumer_offsets-*/*.log") if segment.stat().st_size
    )
    printed = open_client("java").tool(
        DUMP, "--offsets-decoder", "--print-data-log", "--files", ",".join(map(str, segments))
    )
    assert "isvalid: false" not in printed
    mine = [line for line in printed.splitlines() if group in line]
    [commit] = [line for line in mine if '"type":"1"' in line]
    assert f'"topic":"{topic}","partition":0' in commit
    assert '"offset":1' in commit
    assert '"metadata":"words' in commit
    stored = [line for line in mine if '"type":"2"' in line][-1]
    assert '"protocol":"range"' in stored
    assert '"groupInstanceId":"static"' in stored
    assert f'"topics":["{topic}"]' in stored
    assert f'"assignedPartitions":[{{"topic":"{topic}","partitions":[0]}}]' in stored
