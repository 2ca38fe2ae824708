"""Kafka's command-line tools do their work against the broker: what kafka-topics.sh and the others run."""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.driver import EARLIEST, Record, contents
from tests.interop.drivers.java import ToolFailed
from tests.interop.waiting import eventually

Tool = Callable[..., str]


@pytest.fixture
def tool(open_client: Callable[[str], Any], broker_address: str) -> Tool:
    java = open_client("java")

    def run(name: str, *arguments: str, stdin: str = "") -> str:
        return str(java.tool(name, "--bootstrap-server", broker_address, *arguments, stdin=stdin))

    return run


TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


def test_kafka_topics(tool: Tool, reference: Any, topic_name: str) -> None:
    created = tool(
        TOPICS, "--create", "--topic", topic_name, "--partitions", "2", "--config", "retention.ms=1000000"
    )
    assert f"Created topic {topic_name}." in created
    eventually(lambda: topic_name in tool(TOPICS, "--list").splitlines())
    described = tool(TOPICS, "--describe", "--topic", topic_name)
    assert "PartitionCount: 2" in described
    assert "ReplicationFactor: 1" in described
    assert "retention.ms=1000000" in described
    assert "Partition: 1" in described
    with pytest.raises(ToolFailed, match="already exists"):
        tool(TOPICS, "--create", "--topic", topic_name)
    tool(TOPICS, "--create", "--if-not-exists", "--topic", topic_name)
    tool(TOPICS, "--alter", "--topic", topic_name, "--partitions", "3")
    eventually(lambda: len(reference.describe_topic(topic_name)) == 3)
    assert tool(TOPICS, "--describe", "--under-replicated-partitions") == ""
    tool(TOPICS, "--delete", "--topic", topic_name)
    eventually(lambda: topic_name not in tool(TOPICS, "--list").splitlines())


def test_kafka_configs(tool: Tool, topic: str) -> None:
    entity = ["--entity-type", "topics", "--entity-name", topic]
    changed = tool(
        CONFIGS, "--alter", *entity, "--add-config", "retention.ms=1234567,cleanup.policy=[compact,delete]"
    )
    assert "Completed updating config" in changed
    eventually(lambda: "retention.ms=1234567" in tool(CONFIGS, "--describe", *entity))
    described = tool(CONFIGS, "--describe", *entity)
    assert "cleanup.policy=compact,delete" in described
    assert "DYNAMIC_TOPIC_CONFIG:retention.ms=1234567" in described
    tool(CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    eventually(lambda: "retention.ms" not in tool(CONFIGS, "--describe", *entity))
    assert "segment.bytes=1073741824" in tool(CONFIGS, "--describe", "--all", *entity)
    with pytest.raises(ToolFailed, match="InvalidConfigurationException"):
        tool(CONFIGS, "--alter", *entity, "--add-config", "retention.ms=soon")


def test_kafka_configs_of_a_broker(tool: Tool, reference: Any) -> None:
    [broker] = reference.describe_cluster().brokers
    described = tool(CONFIGS, "--describe", "--all", "--entity-type", "brokers", "--entity-name", str(broker))
    assert "num.partitions=1" in described


def test_kafka_configs_of_loggers(tool: Tool, reference: Any) -> None:
    """They are another name here, and follow the same rules."""
    [broker] = reference.describe_cluster().brokers
    entity = ["--entity-type", "broker-loggers", "--entity-name", str(broker)]
    logger = next(
        name
        for line in tool(CONFIGS, "--describe", *entity).splitlines()
        if (name := line.strip().partition("=")[0]).endswith((".isr", "AdminManager"))
    )
    assert "Completed updating config" in tool(CONFIGS, "--alter", *entity, "--add-config", f"{logger}=DEBUG")
    eventually(lambda: f"{logger}=DEBUG" in tool(CONFIGS, "--describe", *entity))
    tool(CONFIGS, "--alter", *entity, "--delete-config", logger)
    eventually(lambda: f"{logger}=DEBUG" not in tool(CONFIGS, "--describe", *entity))
    with pytest.raises(ToolFailed, match="not a supported log level"):
        tool(CONFIGS, "--alter", *entity, "--add-config", f"{logger}=LOUD")
    with pytest.raises(ToolFailed, match="Invalid broker logger"):
        tool(CONFIGS, "--alter", *entity, "--add-config", "no.such=DEBUG")


def test_the_limit_of_moves_between_directories_is_a_setting(tool: Tool, reference: Any) -> None:
    [broker] = reference.describe_cluster().brokers
    entity = ["--entity-type", "brokers", "--entity-name", str(broker)]
    limit = "replica.alter.log.dirs.io.max.bytes.per.second"
    tool(CONFIGS, "--alter", *entity, "--add-config", f"{limit}=1000000")
    eventually(lambda: f"{limit}=1000000" in tool(CONFIGS, "--describe", *entity))
    tool(CONFIGS, "--alter", *entity, "--delete-config", limit)


def test_kafka_acls_without_an_authorizer(tool: Tool) -> None:
    with pytest.raises(ToolFailed, match="No Authorizer is configured"):
        tool("org.apache.kafka.tools.AclCommand", "--list")


def test_kafka_features_of_a_release(tool: Tool) -> None:
    """It raises all features of Kafka 4.3 at once; `share.version` is higher already."""
    printed = tool("org.apache.kafka.tools.FeatureCommand", "upgrade", "--release-version", "4.3")
    assert "eligible.leader.replicas.version was upgraded to 1" in printed
    with pytest.raises(ToolFailed, match=r"share\.version"):
        tool("org.apache.kafka.tools.FeatureCommand", "upgrade", "--feature", "share.version=1")


def test_kafka_configs_of_a_group(tool: Tool) -> None:
    entity = ["--entity-type", "groups", "--entity-name", "a-group"]
    tool(CONFIGS, "--alter", *entity, "--add-config", "consumer.session.timeout.ms=50000")
    eventually(lambda: "consumer.session.timeout.ms=50000" in tool(CONFIGS, "--describe", *entity))
    assert "Dynamic configs for group a-group are" in tool(CONFIGS, "--describe", "--entity-type", "groups")
    assert "consumer.heartbeat.interval.ms=300" in tool(CONFIGS, "--describe", "--all", *entity)
    with pytest.raises(ToolFailed, match=r"group\.consumer\.max\.session\.timeout\.ms"):
        tool(CONFIGS, "--alter", *entity, "--add-config", "consumer.session.timeout.ms=500000")
    tool(CONFIGS, "--alter", *entity, "--delete-config", "consumer.session.timeout.ms")


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_the_console_producer_and_consumer(tool: Tool, reference: Any, topic: str, codec: str) -> None:
    properties = ["--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"]
    tool(
        CONSOLE_PRODUCER,
        "--topic",
        topic,
        "--compression-codec",
        codec,
        *properties,
        stdin="h:1\tk1\tv1\nh:2\tk2\tv2\n",
    )
    assert contents(reference.consume(topic, 0, 2)) == [
        (b"k1", b"v1", (("h", b"1"),)),
        (b"k2", b"v2", (("h", b"2"),)),
    ]
    printed = tool(
        CONSOLE_CONSUMER,
        *("--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", "2"),
        *("--formatter-property", "print.key=true", "--formatter-property", "print.headers=true"),
        *("--formatter-property", "print.offset=true"),
    )
    assert printed.splitlines() == ["Offset:0\th:1\tk1\tv1", "Offset:1\th:2\tk2\tv2"]
    second = tool(
        CONSOLE_CONSUMER, "--topic", topic, "--partition", "0", "--offset", "1", "--max-messages", "1"
    )
    assert second.splitlines() == ["v2"]


def test_kafka_get_offsets(tool: Tool, reference: Any, make_topic: Callable[..., str]) -> None:
    topic = make_topic(partitions=2)
    stamp = int(time.time() * 1000) - 50_000
    reference.produce(topic, [Record(b"k", b"v", timestamp=stamp + n, partition=1) for n in range(5)])
    reference.delete_records(topic, 2, partition=1)
    for asked, expected in (("latest", 5), ("earliest", 2), (str(stamp + 3), 3), ("max-timestamp", 4)):
        printed = tool("org.apache.kafka.tools.GetOffsetShell", "--topic", topic, "--time", asked)
        assert f"{topic}:1:{expected}" in printed.splitlines(), asked


def test_kafka_log_dirs(tool: Tool, reference: Any, topic: str) -> None:
    reference.produce(topic, [Record(b"k", bytes(5_000))])
    printed = tool("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", topic)
    answer = json.loads(printed.splitlines()[-1])
    [directory] = [directory for broker in answer["brokers"] for directory in broker["logDirs"]]
    assert directory["error"] is None
    [partition] = directory["partitions"]
    assert partition["partition"] == f"{topic}-0"
    assert partition["size"] > 5_000
    assert (partition["offsetLag"], partition["isFuture"]) == (0, False)


def test_kafka_delete_records(tool: Tool, reference: Any, topic: str, tmp_path: Path) -> None:
    reference.produce(topic, [Record(b"k", b"v")] * 10)
    wanted = tmp_path / "delete.json"
    wanted.write_text(
        json.dumps({"partitions": [{"topic": topic, "partition": 0, "offset": 6}], "version": 1})
    )
    printed = tool("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", str(wanted))
    assert re.search(r"low_watermark: 6", printed)
    assert reference.find_offset(topic, EARLIEST) == 6


def test_kafka_broker_api_versions(tool: Tool, broker_address: str) -> None:
    printed = tool("org.apache.kafka.tools.BrokerApiVersionsCommand")
    assert printed.startswith(broker_address)
    for api in (
        "Produce(0)",
        "Fetch(1)",
        "ListOffsets(2)",
        "Metadata(3)",
        "ApiVersions(18)",
        "CreateTopics(19)",
    ):
        line = next(line for line in printed.splitlines() if line.strip().startswith(api + ":"))
        assert "usable" in line
        assert "UNSUPPORTED" not in line


def test_kafka_features(tool: Tool) -> None:
    printed = tool("org.apache.kafka.tools.FeatureCommand", "describe")
    levels = dict(re.findall(r"Feature: (\S+).*FinalizedVersionLevel: (\S+)", printed))
    assert levels["metadata.version"] == "4.3-IV0"
    assert (levels["kraft.version"], levels["group.version"]) == ("1", "1")
    printed = tool(
        "org.apache.kafka.tools.FeatureCommand", "upgrade", "--feature", "tidelog.security.version=1"
    )
    assert "tidelog.security.version was upgraded to 1" in printed, "as the refusal at level 0 says"
    with pytest.raises(ToolFailed, match="might delete metadata information"):
        tool("org.apache.kafka.tools.FeatureCommand", "downgrade", "--feature", "metadata.version=25")


def test_kafka_leader_election_and_reassignment(tool: Tool, topic: str, tmp_path: Path) -> None:
    elected = tool(
        "org.apache.kafka.tools.LeaderElectionCommand",
        "--election-type",
        "preferred",
        "--all-topic-partitions",
    )
    assert "Error" not in elected
    plan = tmp_path / "plan.json"
    replicas = tool(TOPICS, "--describe", "--topic", topic).split("Replicas: ")[1].split()[0]
    moves = [{"topic": topic, "partition": 0, "replicas": [int(replicas)]}]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    command = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    begun = tool(command, "--reassignment-json-file", str(plan), "--execute")
    assert "Successfully started partition reassignment" in begun
    assert "is completed" in tool(command, "--reassignment-json-file", str(plan), "--verify")
    assert "No partition reassignments found." in tool(command, "--list")


def test_kafka_producer_perf_test(
    open_client: Callable[[str], Any], broker_address: str, reference: Any, topic: str
) -> None:
    printed = open_client("java").tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--bootstrap-server", broker_address, "--topic", topic, "--num-records", "20000"),
        *("--record-size", "200", "--throughput", "-1"),
    )
    assert "20000 records sent" in printed
    assert reference.find_offset(topic, -1) == 20_000
