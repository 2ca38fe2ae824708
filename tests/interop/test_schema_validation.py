"""Topics whose records must name a schema, with confluent-kafka's producer and serializers."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)
from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    header_schema_id_serializer,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tidelog.testing import Broker, Cluster

_numbers = itertools.count()
VALIDATION = "confluent.value.schema.validation"
ORDER = {"type": "record", "name": "Order", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}
BILL = {"type": "record", "name": "Bill", "namespace": "shop", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="module")
def registry(broker: Broker) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": broker.schema_registry_url})


def new_topic(broker: Broker, **settings: str) -> str:
    topic = f"validated-{next(_numbers)}"
    create(broker.bootstrap_servers, topic, 1, {VALIDATION: "true"} | settings)
    return topic


def create(servers: str, topic: str, partitions: int, settings: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, config=settings)])[topic].result(20)


def produce(servers: str, topic: str, *records: dict[str, Any], **options: Any) -> list[Any]:
    """All records in one batch: what became of each, the offset or the name of the error."""
    outcomes: list[Any] = [None] * len(records)

    def note(number: int) -> Any:
        def delivered(error: KafkaError | None, message: Message) -> None:
            outcomes[number] = message.offset() if error is None else error.name()

        return delivered

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 100, **options})
    for number, record in enumerate(records):
        producer.produce(topic, **record, on_delivery=note(number))
    assert producer.flush(20) == 0
    return outcomes


def value(registry: SchemaRegistryClient, topic: str, schema: Any, **conf: Any) -> dict[str, Any]:
    """Registers the schema, as the serializer does, and returns a record of it."""
    serializer = AvroSerializer(registry, json.dumps(schema), conf=conf)
    headers: list[tuple[str, bytes]] = []
    context = SerializationContext(topic, MessageField.VALUE, headers)
    return {"value": serializer({"id": 1}, context), "headers": headers}


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4", "zstd"])
def test_registered_records_pass(broker: Broker, registry: SchemaRegistryClient, codec: str) -> None:
    topic = new_topic(broker)
    order = value(registry, topic, ORDER)
    tombstone = {"key": b"k", "value": None}
    for base in (0, 4):  # the schema is looked up, then known
        outcomes = produce(
            broker.bootstrap_servers, topic, order, order, tombstone, order, **{"compression.type": codec}
        )
        assert outcomes == list(range(base, base + 4))


def test_others_are_refused_one_by_one(broker: Broker, registry: SchemaRegistryClient) -> None:
    topic = new_topic(broker)
    order = value(registry, topic, ORDER)
    foreign = value(registry, "elsewhere", BILL)
    unknown = {"value": b"\0" + (10**6).to_bytes(4, "big")}
    outcomes = produce(
        broker.bootstrap_servers, topic, order, foreign, unknown, {"value": b"plain"}, **{"acks": "all"}
    )
    assert outcomes == ["_INVALID_DIFFERENT_RECORD", "INVALID_RECORD", "INVALID_RECORD", "INVALID_RECORD"]
    assert produce(broker.bootstrap_servers, topic, order) == [0]


def test_a_schema_passes_as_soon_as_it_is_registered(broker: Broker, registry: SchemaRegistryClient) -> None:
    topic = new_topic(broker)
    foreign = value(registry, "elsewhere", BILL)
    for _ in range(2):
        assert produce(broker.bootstrap_servers, topic, foreign) == ["INVALID_RECORD"]
    assert value(registry, topic, BILL) == foreign, "the same id"
    assert produce(broker.bootstrap_servers, topic, foreign) == [0]


def test_ids_in_headers(broker: Broker, registry: SchemaRegistryClient) -> None:
    topic = new_topic(broker)
    with_header = value(registry, topic, ORDER, **{"schema.id.serializer": header_schema_id_serializer})
    assert with_header["headers"]
    assert produce(broker.bootstrap_servers, topic, with_header) == [0]
    without = with_header | {"headers": []}
    assert produce(broker.bootstrap_servers, topic, without) == ["INVALID_RECORD"]


@pytest.mark.parametrize(
    ("strategy", "of_client"),
    [
        ("RecordNameStrategy", record_subject_name_strategy),
        ("TopicRecordNameStrategy", topic_record_subject_name_strategy),
    ],
)
def test_strategies(broker: Broker, registry: SchemaRegistryClient, strategy: str, of_client: Any) -> None:
    topic = new_topic(broker, **{"confluent.value.subject.name.strategy": strategy})
    fitting = value(registry, topic, ORDER, **{"subject.name.strategy": of_client})
    by_topic = value(registry, topic, BILL)
    assert produce(broker.bootstrap_servers, topic, fitting) == [0]
    assert produce(broker.bootstrap_servers, topic, by_topic) == ["INVALID_RECORD"]


def test_idempotent_and_transactional_producers(broker: Broker, registry: SchemaRegistryClient) -> None:
    topic = new_topic(broker)
    order = value(registry, topic, ORDER)
    servers = broker.bootstrap_servers
    assert produce(servers, topic, order, order, **{"enable.idempotence": True}) == [0, 1]
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, **order)
    producer.commit_transaction(20)
    producer.begin_transaction()
    producer.produce(topic, value=b"plain")
    with pytest.raises(Exception, match=r"transaction|record"):
        producer.commit_transaction(20)
    producer.abort_transaction(20)


def test_switched_on_while_a_producer_runs(broker: Broker, registry: SchemaRegistryClient) -> None:
    topic = new_topic(broker, **{VALIDATION: "false"})
    errors: list[Any] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})

    def send() -> Any:
        producer.produce(topic, value=b"plain", on_delivery=lambda error, _: errors.append(error))
        producer.flush(20)
        return errors[-1] and errors[-1].name()

    assert [send() for _ in range(5)] == [None] * 5
    entry = ConfigEntry(VALIDATION, "true", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.incremental_alter_configs([resource])[resource].result(20)
    assert [send() for _ in range(3)] == ["INVALID_RECORD"] * 3


def test_leaders_of_partitions_ask_the_leader_of_the_schemas() -> None:
    with Cluster(brokers=3) as cluster:
        servers = cluster.bootstrap_servers
        create(servers, "orders", 6, {VALIDATION: "true"})
        registry = SchemaRegistryClient({"url": cluster.brokers[1].schema_registry_url})
        order = value(registry, "orders", ORDER)
        records = [order | {"partition": partition} for partition in range(6)]
        assert produce(servers, "orders", *records) == [0] * 6
        bad = [{"value": b"\0\0\0\1\1", "partition": partition} for partition in range(6)]
        assert produce(servers, "orders", *bad) == ["INVALID_RECORD"] * 6
