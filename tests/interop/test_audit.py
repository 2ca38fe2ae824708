"""The audit record of a real broker, in its file and in its topic."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.interop.waiting import eventually
from tidelog.testing import Broker


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def records_of(broker: Broker, topic: str, count: int) -> list[dict[str, Any]]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "auditors",
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
        }
    )
    consumer.subscribe([topic])
    read: list[dict[str, Any]] = []
    try:
        while len(read) < count:
            message = consumer.poll(20)
            assert message is not None
            if message.error() is None:
                read.append(json.loads(message.value()))
    finally:
        consumer.close()
    return read


def test_changes_and_writes_are_on_record(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    settings = {"audit.file": str(path), "audit.topic": "__audit", "audit.events": "changed,wrote"}
    with Broker(settings=settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "client.id": "tool"})
        admin.create_topics([NewTopic("orders", 2, 1, config={"retention.ms": "60000"})])["orders"].result(20)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
        for _ in range(20):
            producer.produce("orders", b"a secret value")
            assert producer.flush(20) == 0
        eventually(lambda: any(line.get("repeated") for line in lines_of(path)))
        from_topic = records_of(broker, "__audit", 2)
    changed, *wrote = lines_of(path)
    assert from_topic[0] == changed
    del changed["time"]
    assert changed == {
        "event": "changed",
        "broker": 1,
        "principal": "User:ANONYMOUS",
        "host": "127.0.0.1",
        "listener": "PLAINTEXT",
        "client_id": "tool",
        "api": "CreateTopics",
        "resource_type": "TOPIC",
        "resource": "orders",
        "result": "OK",
        "details": {"partitions": "2", "retention.ms": "60000"},
    }
    assert {(line["event"], line["resource"], line["result"]) for line in wrote} == {
        ("wrote", "orders", "OK")
    }
    assert sum(line.get("repeated", 1) for line in wrote) == 20
    assert b"secret" not in path.read_bytes()


def test_a_broker_that_cannot_keep_its_record_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"audit file .* cannot be opened: No such file"):
        Broker(settings={"audit.file": str(tmp_path / "missing" / "audit.log")}).start()
