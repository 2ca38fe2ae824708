"""Kafka's own command-line tools on share groups."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.interop.broker_process import BrokerProcess
from tests.interop.driver import Code, ConfigChange, Refused
from tests.interop.drivers.java import ToolFailed
from tests.interop.shares.conftest import OpenJobs
from tests.interop.shares.jobs import Jobs
from tests.interop.waiting import eventually

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"

Tool = Callable[..., str]


@pytest.fixture
def tool(java: Any, broker_address: str) -> Tool:
    def run(name: str, *options: str) -> str:
        return str(java.tool(name, "--bootstrap-server", broker_address, *options))

    return run


def table(printed: str) -> list[dict[str, str]]:
    """Rows under a header line; columns are set apart by spaces."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    header = next(n for n, line in enumerate(lines) if line[0] == "GROUP")
    return [dict(zip(lines[header], line, strict=False)) for line in lines[header + 1 :]]


def do_some(jobs: Jobs, sharer: Any, written: int, done: int) -> None:
    """Write records, have the first ones accepted, and leave the group."""
    jobs.fill(written)
    member = jobs.join(sharer, explicit=True)
    records = member.take_all(written)
    member.settle(records[:done])
    member.settle(records[done:], "release")
    assert set(member.flush().values()) == {0}
    member.close()


def test_the_console_share_consumer(tool: Tool, jobs: Jobs) -> None:
    jobs.fill(3)
    options = ["--topic", jobs.topic, "--group", jobs.group, "--max-messages", "3", "--timeout-ms", "20000"]
    printed = tool(CONSOLE, *options, "--formatter-property", "print.delivery=true")
    assert printed.splitlines()[:3] == [f"Delivery:1\t{number}" for number in range(3)]
    jobs.wait_until_done()


@pytest.mark.parametrize(("option", "comes_again"), [("--release", True), ("--reject", False)])
def test_the_console_share_consumer_refuses(
    tool: Tool, jobs: Jobs, java: Any, option: str, comes_again: bool
) -> None:
    jobs.fill(2)
    options = ["--topic", jobs.topic, "--group", jobs.group, "--max-messages", "2", "--timeout-ms", "20000"]
    assert tool(CONSOLE, *options, option).splitlines()[:2] == ["0", "1"]
    member = jobs.join(java, explicit=True)
    again = member.take(10 if comes_again else 1)
    assert [(record.offset, record.deliveries) for record in again] == (
        [(0, 2), (1, 2)] if comes_again else []
    )


def test_list_and_describe(tool: Tool, jobs: Jobs, java: Any) -> None:
    jobs.fill(5)
    member = jobs.join(java, explicit=True, max_records=500)
    member.finish(member.take_all(5))
    assert jobs.group in tool(SHARE_GROUPS, "--list").splitlines()
    [state] = [row for row in table(tool(SHARE_GROUPS, "--list", "--state")) if row["GROUP"] == jobs.group]
    assert state["STATE"] == "Stable"
    listed = tool(GROUPS, "--list", "--share")
    assert re.search(rf"{re.escape(jobs.group)}\s+Share\s+share", listed)
    named = ["--group", jobs.group, "--describe"]
    [offsets] = table(tool(SHARE_GROUPS, *named, "--offsets"))
    assert (offsets["TOPIC"], offsets["PARTITION"], offsets["LAG"]) == (jobs.topic, "0", "0")
    [members] = table(tool(SHARE_GROUPS, *named, "--members"))
    assert members["CLIENT-ID"] == "java"
    assert f"{jobs.topic}:0" in members["ASSIGNMENT"]
    [state] = table(tool(SHARE_GROUPS, *named, "--state"))
    assert (state["STATE"], state["#MEMBERS"]) == ("Stable", "1")
    member.close()
    eventually(lambda: table(tool(SHARE_GROUPS, *named, "--state"))[0]["STATE"] == "Empty")


def test_a_group_of_another_type_keeps_its_name(tool: Tool, jobs: Jobs, java: Any, reference: Any) -> None:
    plain = reference.join_group(jobs.group, jobs.topic)
    try:
        jobs.fill(1)
        eventually(lambda: bool(plain.look().records))
        assert jobs.group not in tool(SHARE_GROUPS, "--list").splitlines()
        with pytest.raises(Refused) as refused:
            jobs.join(java).take(20)
        assert refused.value.code == Code.GROUP_ID_NOT_FOUND
    finally:
        plain.close()


def test_reset_offsets(tool: Tool, jobs: Jobs, java: Any) -> None:
    do_some(jobs, java, written=6, done=6)
    jobs.wait_until_done()
    reset = ["--group", jobs.group, "--topic", jobs.topic, "--reset-offsets", "--to-earliest"]
    eventually(lambda: not java.describe_share_group(jobs.group).members)
    planned = tool(SHARE_GROUPS, *reset, "--dry-run")
    assert table(planned)[0]["NEW-OFFSET"] == "0"
    assert java.share_offsets(jobs.group)[jobs.topic, 0].lag == 0
    tool(SHARE_GROUPS, *reset, "--execute")
    assert java.share_offsets(jobs.group) == {(jobs.topic, 0): (0, 6)}
    member = jobs.join(java, explicit=True)
    records = member.take_all(6)
    assert [(record.offset, record.deliveries) for record in records] == [(n, 1) for n in range(6)]


def test_delete_offsets_and_the_group(tool: Tool, open_jobs: OpenJobs, java: Any) -> None:
    jobs = open_jobs()
    do_some(jobs, java, written=4, done=2)
    eventually(lambda: not java.describe_share_group(jobs.group).members)
    deleted = tool(SHARE_GROUPS, "--delete-offsets", "--group", jobs.group, "--topic", jobs.topic)
    assert "Error" not in deleted
    assert java.share_offsets(jobs.group) == {}
    member = jobs.join(java, explicit=True)
    assert [(record.offset, record.deliveries) for record in member.take_all(4)] == [(n, 1) for n in range(4)]
    assert "is not EMPTY" in tool(SHARE_GROUPS, "--delete", "--group", jobs.group)
    member.close()
    eventually(lambda: not java.describe_share_group(jobs.group).members)
    assert "was successful" in tool(SHARE_GROUPS, "--delete", "--group", jobs.group)
    assert jobs.group not in tool(SHARE_GROUPS, "--list").splitlines()


def test_settings_of_a_group(tool: Tool, jobs: Jobs, java: Any) -> None:
    named = ["--entity-type", "groups", "--entity-name", jobs.group]
    tool(CONFIGS, "--alter", *named, "--add-config", "share.record.lock.duration.ms=20000")
    printed = tool(CONFIGS, "--describe", *named)
    assert "share.record.lock.duration.ms=20000" in printed
    assert "share.auto.offset.reset=earliest" in printed
    for name, value in (
        ("share.record.lock.duration.ms", "999"),
        ("share.delivery.count.limit", "1"),
        ("share.auto.offset.reset", "yesterday"),
        ("share.isolation.level", "read_some"),
        ("share.nonsense", "1"),
    ):
        with pytest.raises(ToolFailed):
            tool(CONFIGS, "--alter", *named, "--add-config", f"{name}={value}")
        with pytest.raises(Refused) as refused:
            java.alter_configs("group", jobs.group, [ConfigChange("set", name, value)])
        assert refused.value.code == Code.INVALID_CONFIG
    tool(CONFIGS, "--alter", *named, "--delete-config", "share.record.lock.duration.ms")
    assert java.describe_configs("group", jobs.group)["share.record.lock.duration.ms"].value == "30000"


def test_kafka_reads_the_topic_of_the_state(broker: BrokerProcess, jobs: Jobs, java: Any) -> None:
    do_some(jobs, java, written=4, done=2)
    if broker.data is None:
        pytest.skip("the broker's files are not at hand: TIDELOG_INTEROP_DATA names them")
    files = [file for file in broker.data.glob("__share_group_state-*/*.log") if file.stat().st_size]
    options = ["--share-group-state-decoder", "--print-data-log", "--files", ",".join(map(str, files))]
    printed = java.tool(DUMP, *options)
    mine = [line for line in printed.splitlines() if f'"groupId":"{jobs.group}"' in line]
    assert mine
    kinds = {kind for line in mine for kind in re.findall(r'"type":"?(\d+)', line)}
    assert "0" in kinds  # a snapshot at the least
    assert any('"deliveryState":2' in line or '"startOffset":2' in line for line in mine)
