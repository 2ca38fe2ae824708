"""What the data dir of a release holds, written and read back by clients: everything that must outlive it."""

from collections.abc import Iterator
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_CREATE_TIME,
    Consumer,
    ConsumerGroupTopicPartitions,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

PATIENCE_S = 30
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 50
PLACES = [
    *(("orders", partition) for partition in range(len(CODECS))),
    *((topic, 0) for topic in ("prices", "payments", "trimmed")),
]
BEGAN_MS = 1_700_000_000_000
SETTINGS: dict[str, object] = {
    "durability": "os",
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "group.initial.rebalance.delay.ms": 0,
    "log.cleaner.backoff.ms": 200,
    "log.retention.ms": -1,
}


def write(servers: str) -> None:
    """To a new broker of any release."""
    admin = AdminClient({"bootstrap.servers": servers})
    topics = [
        NewTopic("orders", len(CODECS), 1, config={"max.message.bytes": "2000000"}),
        NewTopic("prices", 1, 1, config={"cleanup.policy": "compact", "segment.bytes": "2000"}),
        NewTopic("payments", 1, 1),
        NewTopic("trimmed", 1, 1),
    ]
    for made in admin.create_topics(topics).values():
        made.result(PATIENCE_S)
    for partition, codec in enumerate(CODECS):
        _produce(servers, "orders", partition, _orders(partition), codec)
    for turn in range(4):
        _produce(servers, "prices", 0, [(f"item-{n}", f"price {turn}") for n in range(30)])
    for outcome in ("committed", "aborted", "committed again"):
        _transaction(servers, outcome)
    _produce(servers, "trimmed", 0, [(None, f"record {n}") for n in range(RECORDS)])
    for deleted in admin.delete_records([TopicPartition("trimmed", 0, 20)]).values():
        deleted.result(PATIENCE_S)
    _commit(servers, "billing", "classic")
    _commit(servers, "shipping", "consumer")
    entry = ConfigEntry("retention.bytes", "123456789", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, "orders", incremental_configs=[entry])
    for altered in admin.incremental_alter_configs([resource]).values():
        altered.result(PATIENCE_S)


def what_is_wrong(servers: str) -> Iterator[str]:
    """Compares what a broker of any later version serves with what was written."""
    records = _read(servers)
    for partition in range(len(CODECS)):
        read = records["orders", partition]
        found = [(message.key().decode(), message.value().decode()) for message in read]
        if found != _orders(partition):
            yield f"orders-{partition}: {found[:3]}… ({len(found)} records)"
        elif [message.timestamp() for message in read] != [
            (TIMESTAMP_CREATE_TIME, BEGAN_MS + n) for n in range(RECORDS)
        ] or any(message.headers() != [("n", b"1"), ("n", None)] for message in read):
            yield f"orders-{partition}: timestamps or headers changed"
    prices = {message.key(): message.value() for message in records["prices", 0]}
    if prices != {f"item-{n}".encode(): b"price 3" for n in range(30)}:
        yield f"prices: {prices}"
    payments = [message.value().decode() for message in records["payments", 0]]
    if payments != [f"{outcome} {n}" for outcome in ("committed", "committed again") for n in range(5)]:
        yield f"payments: {payments}"
    trimmed = [(message.offset(), message.value()) for message in records["trimmed", 0]]
    if trimmed != [(n, f"record {n}".encode()) for n in range(20, RECORDS)]:
        yield f"trimmed: {trimmed}"
    admin = AdminClient({"bootstrap.servers": servers})
    for group in ("billing", "shipping"):
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        offsets = {
            (place.topic, place.partition): (place.offset, place.metadata)
            for place in asked[group].result(PATIENCE_S).topic_partitions
        }
        if offsets != {("orders", p): (p + 1, f"note {p}") for p in range(len(CODECS))}:
            yield f"{group}: {offsets}"
    resource = ConfigResource(ResourceType.TOPIC, "orders")
    [described] = admin.describe_configs([resource]).values()
    configs = described.result(PATIENCE_S)
    for name, wanted in {"retention.bytes": "123456789", "max.message.bytes": "2000000"}.items():
        if configs[name].value != wanted:
            yield f"orders: {name} is {configs[name].value}"


def _orders(partition: int) -> list[tuple[str, str]]:
    return [(f"key-{n}", f"order {n} in {CODECS[partition]} " + "x" * n) for n in range(RECORDS)]


def _produce(servers: str, topic: str, partition: int, records: list[Any], codec: str = "none") -> None:
    producer = Producer({"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 20})
    for n, (key, value) in enumerate(records):
        producer.produce(
            topic, value, key, partition, timestamp=BEGAN_MS + n, headers=[("n", b"1"), ("n", None)]
        )
    assert producer.flush(PATIENCE_S) == 0


def _transaction(servers: str, outcome: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "cashier"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for n in range(5):
        producer.produce("payments", f"{outcome} {n}", partition=0)
    producer.flush(PATIENCE_S)
    if outcome.startswith("committed"):
        producer.commit_transaction(PATIENCE_S)
    else:
        producer.abort_transaction(PATIENCE_S)


def _commit(servers: str, group: str, protocol: str) -> None:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "group.protocol": protocol})
    consumer.subscribe(["orders"])
    while len(consumer.assignment()) < len(CODECS):
        consumer.poll(0.1)
    places = [TopicPartition("orders", p, p + 1, f"note {p}") for p in range(len(CODECS))]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


def _read(servers: str) -> dict[tuple[str, int], list[Message]]:
    found: dict[tuple[str, int], list[Message]] = {place: [] for place in PLACES}
    settings = {"group.id": "reader", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": servers, **settings})
    consumer.assign([TopicPartition(*place, OFFSET_BEGINNING) for place in PLACES])
    unread = set(PLACES)
    while unread and (message := consumer.poll(PATIENCE_S)) is not None:
        place = message.topic(), message.partition()
        if message.error():
            unread.discard(place)
        else:
            found[place].append(message)
    consumer.close()
    return found
