"""Transactions of every client whose coordinator dies in their midst: the next one goes on where it was."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.interop.cluster_under_test import ClusterUnderTest

TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
# Without kafka-python 3.0: it forgets a commit whose coordinator cannot be connected to, and waits for it for
# ever, with Apache Kafka's brokers as with ours.
CLIENTS = ("java", "java-3.9", "confluent", "franz-go", "kafkajs", "aiokafka")


def test_a_coordinator_dies(
    cluster: ClusterUnderTest, connect: Callable[[str], Any], place_topic: Callable[..., str], java: Any
) -> None:
    topic = place_topic([1, 2, 3], [2, 3, 1], [3, 1, 2])
    places = [(topic, partition) for partition in range(3)]
    writers = {name: connect(name).open_transactor(f"{name}-of-{topic}") for name in CLIENTS}
    for name, writer in writers.items():
        writer.begin()
        writer.send([(*place, f"{name} before") for place in places])

    def coordinator(name: str) -> int:
        asked = "describe", "--transactional-id", f"{name}-of-{topic}"
        told = java.tool(TRANSACTIONS, "--bootstrap-server", cluster.bootstrap, *asked)
        found = re.search(rf"^\s*(\d+)\s+{name}-of-{topic}", told, re.MULTILINE)
        assert found is not None, told
        return int(found[1])

    [(victim, _)] = Counter(coordinator(name) for name in CLIENTS).most_common(1)
    cluster.kill(victim)
    for name in CLIENTS[::2]:
        writers[name].commit()
    for name in CLIENTS[1::2]:
        writers[name].abort()
    last = connect("java").open_transactor(f"last-of-{topic}")
    last.begin()
    last.send([(*place, "last") for place in places])
    last.commit()
    found = connect("java").read_committed(topic, range(3), 3 * (len(CLIENTS[::2]) + 1))
    for partition in range(3):
        values = [value for index, value in found if index == partition]
        assert values == [*(f"{name} before" for name in CLIENTS[::2]), "last"]
    cluster.start_broker(victim)
    for writer in (*writers.values(), last):
        writer.close()
