"""Kafka's command-line tools on a cluster: topics, leaders, replicas, the quorum, configs, every broker."""

import json
import re
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interop.cluster_under_test import ClusterUnderTest
from tests.interop.driver import Record
from tests.interop.drivers.java import ToolFailed
from tests.interop.drivers.java_cluster import Moving
from tests.interop.kafka_jars import JVM, QUIET, classpath
from tests.interop.waiting import eventually

Tool = Callable[..., str]
PlaceTopic = Callable[..., str]
Healthy = Callable[[str], None]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"


@pytest.fixture
def tool(java: Any, cluster: ClusterUnderTest) -> Tool:
    def run(name: str, *arguments: str) -> str:
        return str(java.tool(name, "--bootstrap-server", cluster.bootstrap, *arguments))

    return run


def described(tool: Tool, topic: str) -> list[tuple[str, ...]]:
    """Leader, replicas and replicas in sync of each partition, as kafka-topics prints them."""
    printed = tool(TOPICS, "--describe", "--topic", topic)
    return re.findall(r"Partition: \d+\s+Leader: (\S+)\s+Replicas: (\S+)\s+Isr: ([\d,]*)", printed)


def test_kafka_topics(tool: Tool, reference: Any, topic_name: str) -> None:
    tool(TOPICS, "--create", "--topic", topic_name, "--replica-assignment", "3:1,1:2")
    eventually(lambda: len(reference.describe_topic(topic_name)) == 2)
    assert [(leader, replicas) for leader, replicas, _ in described(tool, topic_name)] == [
        ("3", "3,1"),
        ("1", "1,2"),
    ]
    tool(TOPICS, "--alter", "--topic", topic_name, "--partitions", "3", "--replica-assignment", "3:1,1:2,2:3")
    eventually(lambda: len(reference.describe_topic(topic_name)) == 3)
    assert described(tool, topic_name)[2][1] == "2,3"
    for wrong in ("1:9", "1:1"):
        with pytest.raises(ToolFailed, match=r"InvalidReplicaAssignmentException|[Dd]uplicate"):
            tool(TOPICS, "--create", "--topic", f"{topic_name}-x", "--replica-assignment", wrong)
    with pytest.raises(ToolFailed, match="InvalidReplicationFactorException"):
        tool(TOPICS, "--create", "--topic", f"{topic_name}-x", "--replication-factor", "4")
    tool(TOPICS, "--delete", "--topic", topic_name)


def test_every_replica_describes_the_producers_of_its_log(
    tool: Tool, reference: Any, place_topic: PlaceTopic
) -> None:
    topic = place_topic([1, 2, 3])
    reference.produce(topic, [Record(b"k", b"v")])
    where = ["--topic", topic, "--partition", "0"]
    for broker in ("1", "2", "3"):
        printed = tool(TRANSACTIONS, "describe-producers", *where, "--broker-id", broker)
        assert "CurrentTransactionStartOffset" in printed


def test_kafka_reassign_partitions(
    tool: Tool, reference: Any, place_topic: PlaceTopic, healthy: Healthy, tmp_path: Path
) -> None:
    topic = place_topic([1, 2], [2, 1])
    reference.produce(topic, [Record(b"k", bytes(1000), partition=index) for index in (0, 1)] * 50)
    wanted, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    wanted.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    printed = tool(REASSIGN, "--topics-to-move-json-file", str(wanted), "--broker-list", "2,3", "--generate")
    before, proposed = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [part["replicas"] for part in before["partitions"]] == [[1, 2], [2, 1]]
    plan.write_text(json.dumps(proposed))
    with_plan = ["--reassignment-json-file", str(plan)]
    begun = tool(REASSIGN, *with_plan, "--execute", "--throttle", "50000000")
    assert "Successfully started partition reassignments" in begun
    assert "The inter-broker throttle limit was set to 50000000 B/s" in begun
    eventually(lambda: "still in progress" not in tool(REASSIGN, *with_plan, "--verify"), 60)
    verified = tool(REASSIGN, *with_plan, "--verify")
    assert verified.count("is completed") == 2
    assert "Clearing broker-level throttles on brokers 1,2,3" in verified
    assert "Clearing topic-level throttles on topic" in verified
    targets = {part["partition"]: part["replicas"] for part in proposed["partitions"]}
    found = {index: part.replicas for index, part in reference.describe_topic(topic).items()}
    assert found == targets
    for id in ("1", "2", "3"):
        entity = ["--entity-type", "brokers", "--entity-name", id]
        assert "throttled" not in tool(CONFIGS, "--describe", *entity)
    assert "throttled" not in tool(CONFIGS, "--describe", "--entity-type", "topics", "--entity-name", topic)


def test_kafka_leader_election(tool: Tool, java: Any, reference: Any, place_topic: PlaceTopic) -> None:
    topic = place_topic([1, 2, 3], [1, 2, 3])
    java.reassign({(topic, index): [2, 3, 1] for index in (0, 1)})  # another order: another preferred leader
    eventually(lambda: not java.list_reassignments())
    one = ["--topic", topic, "--partition", "0"]
    elected = tool(ELECTION, "--election-type", "preferred", *one)
    assert "Successfully completed leader election (PREFERRED)" in elected
    eventually(lambda: [part.leader for part in reference.describe_topic(topic).values()] == [2, 1])
    again = tool(ELECTION, "--election-type", "preferred", *one)
    assert "Valid replica already elected" in again
    assert "Valid replica already elected" in tool(ELECTION, "--election-type", "unclean", *one)
    tool(ELECTION, "--election-type", "preferred", "--all-topic-partitions")
    eventually(lambda: [part.leader for part in reference.describe_topic(topic).values()] == [2, 2])
    with pytest.raises(ToolFailed, match="UnknownTopicOrPartition"):
        tool(ELECTION, "--election-type", "preferred", "--topic", topic, "--partition", "7")


def test_kafka_metadata_quorum(tool: Tool, cluster: ClusterUnderTest, java: Any, tmp_path: Path) -> None:
    status = dict(re.findall(r"^(\w+):\s+(.*)$", tool(QUORUM, "describe", "--status"), re.MULTILINE))
    leader = java.describe_quorum().leader
    assert int(status["LeaderId"]) == leader
    assert re.findall(r'"id": (\d)', status["CurrentVoters"]) == ["1", "2", "3"]
    assert cluster.controller_address(1).split(":")[1] in status["CurrentVoters"]
    assert int(status["HighWatermark"]) > 0
    rows = tool(QUORUM, "describe", "--replication").splitlines()
    assert sorted((row.split()[0], row.split()[-1]) for row in rows[1:]) == sorted(
        (str(id), "Leader" if id == leader else "Follower") for id in (1, 2, 3)
    )
    node = 1 if leader != 1 else 2
    directory = java.describe_quorum().voters[node].directory
    leave = ["--controller-id", str(node), "--controller-directory-id", directory]
    assert re.search(rf"Removed\s+KRaft controller {node} ", tool(QUORUM, "remove-controller", *leave))
    eventually(lambda: node in java.describe_quorum().observers)
    with pytest.raises(ToolFailed, match="VoterNotFoundException"):
        tool(QUORUM, "remove-controller", *leave)
    own = tmp_path / "controller.properties"
    own.write_text(
        f"process.roles=controller\nnode.id={node}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CONTROLLER://{cluster.controller_address(node)}\n"
        f"log.dirs={cluster.log_dir(node)}\n"
    )

    def added() -> bool:
        try:
            return f"Added controller {node}" in tool(QUORUM, "--command-config", str(own), "add-controller")
        except ToolFailed as failure:
            if "DuplicateVoterException" in str(failure):
                return True
            if "caught up" in str(failure):
                return False  # it has to follow for a moment first
            raise

    eventually(added, 60)
    eventually(lambda: sorted(java.describe_quorum().voters) == [1, 2, 3])


def test_kafka_configs_of_brokers(tool: Tool, reference: Any) -> None:
    """Each broker answers for itself, and the default holds for all that have no value of their own."""
    every, second = ["--entity-type", "brokers", "--entity-default"], ["--entity-type", "brokers"]
    second += ["--entity-name", "2"]
    name = "message.max.bytes"

    def value(id: int) -> str | None:
        return reference.describe_configs("broker", str(id))[name].value

    tool(CONFIGS, "--alter", *every, "--add-config", f"{name}=1200000")
    eventually(lambda: [value(id) for id in (1, 2, 3)] == ["1200000"] * 3)
    tool(CONFIGS, "--alter", *second, "--add-config", f"{name}=1300000")
    eventually(lambda: [value(id) for id in (1, 2, 3)] == ["1200000", "1300000", "1200000"])
    printed = tool(CONFIGS, "--describe", *second)
    assert f"{name}=1300000" in printed
    assert "DYNAMIC_BROKER_CONFIG:message.max.bytes=1300000" in printed
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:message.max.bytes=1200000" in printed
    assert f"{name}=1200000" in tool(CONFIGS, "--describe", *every)
    tool(CONFIGS, "--alter", *second, "--delete-config", name)
    tool(CONFIGS, "--alter", *every, "--delete-config", name)
    eventually(lambda: len({value(id) for id in (1, 2, 3)} - {"1200000", "1300000"}) == 1)
    described = tool(CONFIGS, "--describe", "--all", "--entity-type", "brokers", "--entity-name", "3")
    assert "broker.rack=c" in described
    assert "node.id=3" in described


def test_tools_that_ask_every_broker(
    tool: Tool, cluster: ClusterUnderTest, reference: Any, place_topic: PlaceTopic
) -> None:
    topic = place_topic([1, 2], [2, 3], [3, 1])
    reference.produce(topic, [Record(b"k", bytes(1000), partition=index) for index in (0, 1, 1, 2, 2, 2)])
    versions = tool("org.apache.kafka.tools.BrokerApiVersionsCommand")
    found = re.findall(r"^\S+ \(id: (\d) rack: (\w)", versions, re.MULTILINE)
    assert sorted(found) == [("1", "a"), ("2", "b"), ("3", "c")]
    assert versions.count("Fetch(1): ") == 3
    features = tool("org.apache.kafka.tools.FeatureCommand", "describe")
    assert re.search(r"Feature: metadata.version\s.*FinalizedVersionLevel: 4.3", features)
    offsets = tool("org.apache.kafka.tools.GetOffsetShell", "--topic", topic)
    assert offsets.split() == [f"{topic}:0:1", f"{topic}:1:2", f"{topic}:2:3"]
    printed = tool(LOG_DIRS, "--describe", "--broker-list", "1,3", "--topic-list", topic)
    held = {
        broker["broker"]: sorted(
            part["partition"] for directory in broker["logDirs"] for part in directory["partitions"]
        )
        for broker in json.loads(printed.splitlines()[-1])["brokers"]
    }
    assert held == {1: [f"{topic}-0", f"{topic}-2"], 3: [f"{topic}-1", f"{topic}-2"]}
    cluster_tool = "org.apache.kafka.tools.ClusterTool"

    def ask(command: str) -> str:
        return str(java_tool(cluster_tool, command, "--bootstrap-server", cluster.bootstrap))

    java_tool = reference.tool
    assert ask("cluster-id").strip() == f"Cluster ID: {reference.describe_cluster().cluster_id}"
    rows = [line.split() for line in ask("list-endpoints").splitlines()[1:]]
    assert sorted((row[0], row[3]) for row in rows) == [("1", "a"), ("2", "b"), ("3", "c")]


def test_kafka_replica_verification(
    cluster: ClusterUnderTest, reference: Any, place_topic: PlaceTopic, healthy: Healthy
) -> None:
    """It reads all replicas, compares their checksums and goes on for ever: its first report is enough."""
    topic = place_topic([1, 2, 3], [2, 3, 1])
    reference.produce(topic, [Record(b"k", b"v", partition=index) for index in (0, 1)] * 20)
    healthy(topic)
    command = [*JVM, *QUIET, "-cp", classpath(), "org.apache.kafka.tools.ReplicaVerificationTool"]
    command += ["--broker-list", cluster.bootstrap, "--topics-include", topic, "--report-interval-ms", "100"]
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as tool:
        assert tool.stdout is not None
        watchdog = threading.Timer(60, tool.kill)
        watchdog.start()
        for line in tool.stdout:
            said.append(line)
            if "max lag is" in line:
                break
        watchdog.cancel()
        tool.kill()
    assert f"max lag is 0 for partition {topic}-" in said[-1], said
    assert "among 2 partitions" in said[-1]
    assert not [line for line in said if "unmatched" in line or "doesn't match" in line]


def test_with_a_broker_that_is_gone(
    tool: Tool, cluster: ClusterUnderTest, java: Any, place_topic: PlaceTopic, tmp_path: Path
) -> None:
    """Tools show what is missing; a move to the dead broker waits, and can be taken back."""
    shared, alone, moving = place_topic([1, 2, 3]), place_topic([3]), place_topic([1])
    assert tool(TOPICS, "--describe", "--under-replicated-partitions") == ""
    assert tool(TOPICS, "--describe", "--unavailable-partitions") == ""
    cluster.kill(3)
    try:
        eventually(lambda: shared in tool(TOPICS, "--describe", "--under-replicated-partitions"), 40)
        eventually(lambda: described(tool, shared) == [("1", "1,2,3", "1,2")], 40)
        missing = tool(TOPICS, "--describe", "--unavailable-partitions")
        assert alone in missing
        assert shared not in missing
        # Apache Kafka shows the last one not as in sync, but as eligible to lead.
        assert [part[:2] for part in described(tool, alone)] == [("none", "3")]
        assert shared in tool(TOPICS, "--describe", "--at-min-isr-partitions")
        plan = tmp_path / "plan.json"
        entry = {"topic": moving, "partition": 0, "replicas": [3]}
        plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
        with_plan = ["--reassignment-json-file", str(plan)]
        with pytest.raises(ToolFailed, match="Unknown broker id 3"):
            tool(REASSIGN, *with_plan, "--execute")
        # The tool refuses a broker that is away; the protocol does not.
        java.reassign({(moving, 0): [3]})
        assert java.list_reassignments() == {(moving, 0): Moving([3, 1], [3], [1])}
        assert f"{moving}-0: replicas: 3,1. adding: 3. removing: 1." in tool(REASSIGN, "--list")
        assert "is still in progress" in tool(REASSIGN, *with_plan, "--verify")
        assert "Successfully cancelled" in tool(REASSIGN, *with_plan, "--cancel", "--preserve-throttles")
        assert "No partition reassignments found." in tool(REASSIGN, "--list")
        assert described(tool, moving) == [("1", "1", "1")]
        assert java.elect_leaders("PREFERRED", [(alone, 0)]) == {(alone, 0): 80}
        gone = registered(java, cluster)
        assert gone == {"1": "unfenced", "2": "unfenced", "3": "fenced"}
        unregistered = java.tool(
            "org.apache.kafka.tools.ClusterTool",
            "unregister",
            "--bootstrap-server",
            cluster.bootstrap,
            "--id",
            "3",
        )
        assert "Broker 3 is no longer registered." in unregistered
        eventually(lambda: "3" not in registered(java, cluster))
    finally:
        cluster.start_broker(3)
    eventually(lambda: registered(java, cluster).get("3") == "unfenced", 60)
    eventually(lambda: described(tool, alone) == [("3", "3", "3")], 40)
    eventually(lambda: tool(TOPICS, "--describe", "--under-replicated-partitions") == "", 60)


def registered(java: Any, cluster: ClusterUnderTest) -> dict[str, str]:
    """Whether each registered broker is fenced, as kafka-cluster shows it."""
    printed = java.tool(
        "org.apache.kafka.tools.ClusterTool",
        "list-endpoints",
        "--bootstrap-server",
        cluster.bootstrap,
        "--include-fenced-brokers",
    )
    return {line.split()[0]: line.split()[4] for line in printed.splitlines()[1:]}
