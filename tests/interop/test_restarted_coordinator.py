"""A broker that was restarted looks after groups as before, those of the new protocol too."""

import time
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tidelog.testing import Broker

PATIENCE_S = 30.0


def assigned_to(servers: str, group: str) -> list[int]:
    """What a new member of the new protocol is given."""
    given: list[TopicPartition] = []
    settings = {"bootstrap.servers": servers, "group.id": group, "group.protocol": "consumer", "log_level": 0}
    consumer = Consumer(settings)
    consumer.subscribe(["t"], on_assign=lambda _, places: given.extend(places))
    deadline = time.monotonic() + PATIENCE_S
    while not given and time.monotonic() < deadline:
        consumer.poll(0.1)
    consumer.close()
    return sorted(place.partition for place in given)


def test_it_knows_the_topics_that_groups_can_read(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic("t", 3, 1)])["t"].result(PATIENCE_S)
        assert assigned_to(broker.bootstrap_servers, "before") == [0, 1, 2]
        broker.restart()
        assert assigned_to(broker.bootstrap_servers, "after") == [0, 1, 2]
