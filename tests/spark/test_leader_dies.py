"""A leader dies under a task and under the driver's plan: both go on with the next one, and miss nothing."""

from collections import defaultdict

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tidelog.blocking.cluster import Cluster as BlockingCluster
from tidelog.blocking.cluster import TopicPartition
from tidelog.spark.source.batch_planner import batch_ranges
from tidelog.spark.source.loss import LossReport
from tidelog.spark.source.options import read_source_options
from tidelog.spark.source.range_reader import FetchLimits, RangeReader
from tidelog.testing import Cluster

PARTITIONS, EACH = 3, 2_000


def test_every_row_comes_once_though_a_leader_dies() -> None:
    # Slow machines elect slowly; a session that is too short would only add elections.
    with Cluster(3, settings={"broker.session.timeout.ms": 5000}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("t", PARTITIONS, 3)])["t"].result(60)
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "linger.ms": 20})
        for number in range(PARTITIONS * EACH):
            producer.produce("t", value=bytes(500), partition=number % PARTITIONS)
            producer.poll(0)
        assert producer.flush(100) == 0

        given = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": "t"}
        options = read_source_options(given | {"kafka.default.api.timeout.ms": "100s"}, is_stream=False)
        with BlockingCluster(options.cluster) as client:
            ranges = batch_ranges(options, client)
            # Small answers, so that the leader dies with most of the range unread.
            limits = FetchLimits(bytes_max=200_000, partition_bytes_max=100_000)
            reader = RangeReader(client, ranges, limits, LossReport(fails=True), ["offset"])
            seen: dict[int, list[int]] = defaultdict(list)
            victim = None
            for place, rows in reader:
                seen[place.partition] += rows.columns["offset"].to_pylist()
                if victim is None:
                    victim = client.leader(TopicPartition("t", place.partition))
                    cluster.kill(victim)
            assert seen == {index: list(range(EACH)) for index in range(PARTITIONS)}
            assert batch_ranges(options, client) == ranges
