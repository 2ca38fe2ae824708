"""Apache Kafka's own tools and transactions: those that look, those that end one, and those that write."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.interop.driver import Refused
from tests.interop.waiting import eventually

FEATURES = "org.apache.kafka.tools.FeatureCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
COPIER = "org.apache.kafka.tools.TransactionalMessageCopier"
PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"

Tool = Callable[..., str]


@pytest.fixture
def tool(open_client: Callable[[str], Any], broker_address: str) -> Tool:
    java = open_client("java")
    return lambda name, *arguments: str(java.tool(name, *arguments))


@pytest.fixture
def open_transaction(open_client: Callable[[str], Any], topic: str) -> Iterator[Any]:
    """With a record in partition 0, by the Java client."""
    java = open_client("java")
    transactor = java.open_transactor(f"writer-of-{topic}")
    transactor.begin()
    transactor.send([(topic, 0, "open")])
    yield transactor
    transactor.close()


def test_transactions_of_the_second_protocol_are_offered(tool: Tool, broker_address: str) -> None:
    told = tool(FEATURES, "--bootstrap-server", broker_address, "describe")
    [line] = [line for line in told.splitlines() if "transaction.version" in line]
    assert re.search(r"SupportedMaxVersion: 2\s+FinalizedVersionLevel: 2", line), line


def test_what_is_open_is_shown(tool: Tool, broker_address: str, topic: str, open_transaction: Any) -> None:
    def ask(*arguments: str) -> str:
        return tool(TRANSACTIONS, "--bootstrap-server", broker_address, *arguments)

    name = f"writer-of-{topic}"
    assert re.search(rf"{name}\s+\d+\s+\d+\s+Ongoing", ask("list"))
    assert name not in ask("list", "--duration-filter", "3600000")
    described = ask("describe", "--transactional-id", name)
    assert re.search(rf"{name}\s.*\sOngoing\s.*{topic}-0", described)
    producers = ask("describe-producers", "--topic", topic, "--partition", "0")
    # ProducerId ProducerEpoch LatestCoordinatorEpoch LastSequence LastTimestamp CurrentTransactionStartOffset
    assert re.search(r"^\s*\d+\s+0\s+-?\d+\s+0\s+\d+\s+0\s*$", producers, re.MULTILINE), producers
    hanging = ask("find-hanging", "--topic", topic)
    assert name not in hanging, "it has a coordinator, which will end it"


def test_an_open_transaction_is_ended_by_its_id(
    tool: Tool, broker_address: str, topic: str, open_transaction: Any, reference: Any
) -> None:
    tool(
        TRANSACTIONS,
        "--bootstrap-server",
        broker_address,
        "forceTerminateTransaction",
        "--transactionalId",
        f"writer-of-{topic}",
    )
    eventually(lambda: reference.stable_end(topic, 0) == 2)
    with pytest.raises(Refused):
        open_transaction.commit()


def test_the_performance_of_transactions(tool: Tool, broker_address: str, topic: str, reference: Any) -> None:
    printed = tool(
        PERFORMANCE,
        *("--topic", topic, "--num-records", "2000", "--record-size", "100", "--throughput", "-1"),
        *("--bootstrap-server", broker_address, "--transactional-id", f"perf-{topic}"),
        *("--transaction-duration-ms", "50"),
    )
    assert "2000 records sent" in printed
    assert len(reference.read_committed(topic, [0], 2000)) == 2000


def test_the_copier_of_kafkas_own_tests(
    tool: Tool, broker_address: str, make_topic: Callable[..., str], reference: Any
) -> None:
    """Some of its transactions it aborts."""
    source, target = make_topic(), make_topic()
    feed = reference.open_transactor(f"feed-{source}")
    feed.begin()
    feed.send([(source, 0, str(number)) for number in range(200)])
    feed.commit()
    tool(
        COPIER,
        *("--broker-list", broker_address, "--transactional-id", f"copier-{source}"),
        *("--input-topic", source, "--input-partition", "0", "--output-topic", target),
        *("--consumer-group", f"group-{source}", "--max-messages", "200", "--transaction-size", "20"),
        "--enable-random-aborts",
        "--use-group-metadata",
    )
    copied = reference.read_committed(target, [0], 200)
    assert copied == [(0, str(number)) for number in range(200)]
