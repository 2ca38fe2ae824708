"""All records of a dead-letter topic, as a consumer reads them."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from tests.chaos.recorded_clients import RECONNECT
from tidelog.testing.share_history import Stored

PATIENCE_S = 30.0


def stored_letters(servers: str, topic: str, partitions: int) -> list[Stored]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "reads dead letters",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            **RECONNECT,
        }
    )
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(partitions)])
    stored: list[Stored] = []
    open_ones = set(range(partitions))
    try:
        while open_ones:
            message = consumer.poll(PATIENCE_S)
            if message is None:
                raise TimeoutError(f"{topic} cannot be read to its end")
            if (error := message.error()) is None:
                headers = [(name, (value or b"").decode()) for name, value in message.headers() or []]
                place = f"{topic}-{message.partition()}"
                value = (message.value() or b"").decode()
                stored.append(Stored(place, message.offset() or 0, value, headers))
            elif error.code() == KafkaError._PARTITION_EOF:
                open_ones.discard(message.partition() or 0)
            elif not error.retriable():
                raise KafkaException(error)
    finally:
        consumer.close()
    return stored
