"""Where logs end, asked as an application would: again while a leader is on the move."""

import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.chaos.process_cluster import PATIENCE_S

Place = tuple[str, int]
LEADER_MOVES = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.OFFSET_NOT_AVAILABLE,  # the new leader does not know its high watermark yet
}
PAUSE_S = 0.1


def log_ends(consumer: Consumer, places: Iterable[Place]) -> dict[Place, int]:
    return {place: _end_of(consumer, place) for place in places}


def _end_of(consumer: Consumer, place: Place) -> int:
    """librdkafka hands the first refusal to its caller, and asks the new leader the next time."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return int(consumer.get_watermark_offsets(TopicPartition(*place), PATIENCE_S)[1])
        except KafkaException as error:
            if error.args[0].code() not in LEADER_MOVES or time.monotonic() > deadline:
                raise
        time.sleep(PAUSE_S)
