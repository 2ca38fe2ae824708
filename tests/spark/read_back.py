"""What a consumer sees of a topic that reads committed records only."""

from collections import Counter

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition


def committed(servers: str, topic: str) -> list[Message]:
    """All that can be read by now. Fails where an open transaction is in the way of records."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "read-back",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    try:
        parts = consumer.list_topics(topic, timeout=30).topics[topic].partitions
        consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in parts])
        left, found = len(parts), []
        while left:
            message = consumer.poll(30)
            assert message is not None, "no record and no end for 30 s"
            if message.error():
                left -= 1  # the end of a partition
            else:
                found.append(message)
        return found
    finally:
        consumer.close()


def counted(servers: str, topic: str) -> Counter[str]:
    return Counter((message.value() or b"").decode() for message in committed(servers, topic))
