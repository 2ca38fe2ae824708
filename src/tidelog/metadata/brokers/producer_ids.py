"""Decides on blocks of producer ids: a broker takes a block at a time and hands out ids from memory.

A broker that stops forgets the rest of its block. That is meant: an id must never be given out twice.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NodeId
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import ProducerIdsAllocated

BLOCK_SIZE = 1000
PRODUCER_ID_MAX = 2**63 - 1


def decide_producer_id_block(
    image: ClusterImage, *, broker_id: NodeId, size: int = BLOCK_SIZE
) -> Decision[range]:
    """The single result is the block of ids, which no other broker ever gets."""
    first = image.next_producer_id
    if first > PRODUCER_ID_MAX - size:
        raise KafkaError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Exhausted all producerIds as the next block's end producerId has exceeded {PRODUCER_ID_MAX}",
        )
    return Decision([ProducerIdsAllocated(broker_id, first + size)], [range(first, first + size)])
