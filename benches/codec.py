"""How long the codec takes for the messages that matter: `python -m benches.codec`. Best of several runs."""

import time
from collections.abc import Callable

from tidelog.wire.codec import decoder, encode, encoder
from tidelog.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)


def best_us(call: Callable[[], object], number: int, runs: int = 300) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        for _ in range(number):
            call()
        best = min(best, time.perf_counter() - start)
    return best / number * 1e6


def produce_request() -> ProduceRequest:
    partition = PartitionProduceData(index=3, records=memoryview(bytes(16 * 1024)))
    topic = TopicProduceData(name="orders", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def produce_response() -> ProduceResponse:
    partition = PartitionProduceResponse(index=3, base_offset=12_345, log_start_offset=0)
    return ProduceResponse(responses=[TopicProduceResponse(name="orders", partition_responses=[partition])])


def fetch_request() -> FetchRequest:
    partitions = [
        FetchPartition(partition=index, fetch_offset=1000 + index, partition_max_bytes=1 << 20)
        for index in range(10)
    ]
    return FetchRequest(
        max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic="orders", partitions=partitions)]
    )


def metadata_response() -> MetadataResponse:
    def partition(index: int) -> MetadataResponsePartition:
        nodes = [1, 2, 3]
        return MetadataResponsePartition(
            partition_index=index, leader_id=1, leader_epoch=4, replica_nodes=nodes, isr_nodes=nodes
        )

    brokers = [MetadataResponseBroker(node_id=node, host=f"broker-{node}", port=9092) for node in (1, 2, 3)]
    topics = [
        MetadataResponseTopic(name=f"topic-{number}", partitions=[partition(index) for index in range(10)])
        for number in range(100)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1, topics=topics)


def main() -> None:
    produce = memoryview(b"".join(encode(produce_request(), 9)))
    fetch = memoryview(b"".join(encode(fetch_request(), 12)))
    decode_produce = decoder(ProduceRequest, 9)
    decode_fetch = decoder(FetchRequest, 12)
    encode_produced, produced = encoder(ProduceResponse, 9), produce_response()
    encode_metadata, metadata = encoder(MetadataResponse, 12), metadata_response()
    rows = (
        ("decode Produce v9, 16 KiB of records", lambda: decode_produce(produce), 300, 2.0),
        ("encode its response", lambda: encode_produced(produced, bytearray()), 300, 0.8),
        ("decode Fetch v12, 10 partitions", lambda: decode_fetch(fetch), 300, 4.3),
        ("encode Metadata v12, 100 x 10", lambda: encode_metadata(metadata, bytearray()), 1, 730.0),
    )
    for name, call, number, target in rows:
        print(f"{name:40} {best_us(call, number):8.2f} us  (target {target})")


if __name__ == "__main__":
    main()
