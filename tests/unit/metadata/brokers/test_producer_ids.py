import pytest

from tidelog.base.errors import KafkaError
from tidelog.metadata.brokers.producer_ids import decide_producer_id_block
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import ProducerIdsAllocated


def test_blocks_never_overlap():
    image = ClusterImage()
    blocks = []
    for _ in range(3):
        decision = decide_producer_id_block(image, broker_id=1)
        image = advance(image, decision.records).after
        blocks += decision.results
    assert blocks == [range(1000), range(1000, 2000), range(2000, 3000)]


def test_the_last_ids_are_not_given_out_twice():
    image = ClusterImage().apply(ProducerIdsAllocated(1, 2**63 - 500))
    with pytest.raises(KafkaError, match="Exhausted all producerIds"):
        decide_producer_id_block(image, broker_id=1)
