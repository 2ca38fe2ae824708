"""Serializers of other languages with the broker's own registry: what each writes, all of them read.

KafkaJS with `@kafkajs/confluent-schema-registry`, franz-go with `pkg/sr`, and Confluent's Java serializers
(see `programs.py` for where those come from).
"""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.interop.registry.programs import PROGRAMS, Program
from tidelog.testing import Broker

TOPIC = "events"
RECORDS = 3
SCHEMA = (
    '{"type":"record","name":"Event","namespace":"interop","fields":'
    '[{"name":"name","type":"string"},{"name":"count","type":"int"}]}'
)


@pytest.fixture(scope="module")
def served() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    found = PROGRAMS[request.param]
    if (missing := found.missing()) is not None:
        pytest.skip(missing)
    return found


@pytest.fixture(scope="module")
def written(served: Broker) -> set[tuple[str, int]]:
    """Every client here has written its records, Python's first."""
    registry = SchemaRegistryClient({"url": served.schema_registry_url})
    serialize = AvroSerializer(registry, SCHEMA)
    producer = Producer({"bootstrap.servers": served.bootstrap_servers})
    for number in range(RECORDS):
        context = SerializationContext(TOPIC, MessageField.VALUE)
        producer.produce(TOPIC, serialize({"name": "python", "count": number}, context))
    assert producer.flush(20) == 0
    ids = {registry.get_latest_version(f"{TOPIC}-value").schema_id}
    writers = [one for one in PROGRAMS.values() if one.missing() is None]
    for one in writers:
        ids.add(ask(one, served, "write", TOPIC, RECORDS)["id"])
    assert len(ids) == 1, "one schema has one id, in every language"
    names = ["python", *(one.name for one in writers)]
    return {(name, number) for name in names for number in range(RECORDS)}


def ask(program: Program, served: Broker, do: str, topic: str, number: int = 0):  # type: ignore[no-untyped-def]
    return program.ask(served.bootstrap_servers, served.schema_registry_url, do, topic, number)


def test_what_all_wrote_is_read(program: Program, served: Broker, written: set[tuple[str, int]]) -> None:
    found = ask(program, served, "read", TOPIC, len(written))
    assert {(name, count) for name, count in found} == written


def test_python_reads_it_too(served: Broker, written: set[tuple[str, int]]) -> None:
    registry = SchemaRegistryClient({"url": served.schema_registry_url})
    deserialize = AvroDeserializer(registry)
    settings = {"bootstrap.servers": served.bootstrap_servers, "group.id": "python"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    found = set()
    for message in consumer.consume(len(written), timeout=20):
        value = deserialize(message.value(), SerializationContext(TOPIC, MessageField.VALUE))
        found.add((value["name"], value["count"]))
    consumer.close()
    assert found == written


def test_kafkajs_understands_the_registry(served: Broker) -> None:
    found = looked("kafkajs", served)
    assert found["id"] == found["latest"] == found["of_version"] == found["of_schema"]
    assert found["protobuf"] == found["json"] == "x"
    assert "incompatible with an earlier schema" in found["incompatible"]["message"]
    assert found["unknown_id"] == {"status": 404, "message": found["unknown_id"]["message"]}
    assert "987654" in found["unknown_id"]["message"]
    assert found["invalid"] is not None


def test_franz_go_understands_the_registry(served: Broker) -> None:
    found = looked("franz-go", served)
    assert found["id"] == found["latest"] == found["of_schema"]
    assert "look-franz-go-value" in found["subjects"]
    assert (found["incompatible"], found["unknown_id"]) == (40901, 40403)
    assert found["compatible"] is False
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in found["messages"][0]
    assert found["widened"] == 2
    assert found["used"] == "look-franz-go-value"
    assert found["versions"] == [1]


def test_confluents_java_client_understands_the_registry(served: Broker) -> None:
    found = looked("java", served)
    assert found["id"] == found["latest"]
    assert (found["incompatible"], found["unknown_id"]) == (40901, 40403)
    assert found["compatible"] is False
    assert found["messages"] > 0
    assert (found["version"], found["versions"], found["left"]) == (1, [1, 2], [1])
    assert (found["listed"], found["level"]) == (True, "NONE")


def looked(name: str, served: Broker):  # type: ignore[no-untyped-def]
    program = PROGRAMS[name]
    if (missing := program.missing()) is not None:
        pytest.skip(missing)
    return ask(program, served, "look", f"look-{name}")
