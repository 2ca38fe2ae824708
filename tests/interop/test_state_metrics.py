"""The metrics of a real cluster agree with what its clients did and with each other.

Each test looks at what those before it left behind, so they run on one worker (tests/conftest.py).
"""

import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.interop.waiting import eventually, until_it_holds
from tests.rigs.scrape import Scraped, scrape
from tidelog import (
    Admin,
    AuthorizationFailed,
    Consumer,
    Producer,
    Queue,
    TopicPartition,
    TransactionalProducer,
)
from tidelog.broker.metrics import end_offsets
from tidelog.cli.main import run
from tidelog.metrics.catalogue import FAMILIES
from tidelog.metrics.families import faults, pipelines
from tidelog.metrics.family import Family
from tidelog.testing import Broker, Security
from tidelog.testing.cluster import Cluster

RECORDS = 50
VALUE = b"x" * 100

PIPELINE = "pipelines serve these, and no broker"
WHILE_MEMBERS_WORK = {
    "tidelog_share_group_acquired_records",
    "tidelog_share_group_scheduled_records",
    "tidelog_share_group_archiving_records",
    "tidelog_share_group_delayed_records",
}
ELSEWHERE = {
    **dict.fromkeys(WHILE_MEMBERS_WORK, "the test of a queue sees them"),
    "tidelog_share_group_held_up_dead_letters": "appears with the first dead letter that cannot be written",
    "tidelog_share_deleted_records_total": "appears with the first topic whose finished records are deleted",
    "tidelog_connections_refused_total": "appears with the first refusal",
    "tidelog_authentication_failures_total": "appears with the first failure",
    "tidelog_metrics_collector_errors_total": "appears with the first fault of our own",
    "tidelog_client_metric": "what clients push",
    "tidelog_client_metric_total": "what clients push",
    **{family.name: PIPELINE for family in vars(pipelines).values() if isinstance(family, Family)},
    **{family.name: "tests of faults" for family in vars(faults).values() if isinstance(family, Family)},
}
"""Metrics that this cluster need not show; those of them that exist have tests of their own."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(end_offsets, "SAMPLE_SECONDS", 0.1)
        with Cluster(brokers=3, settings={"metrics.port": -1}) as running:
            yield running


@pytest.fixture(scope="module")
def config(cluster: Cluster) -> dict[str, object]:
    return {"bootstrap.servers": cluster.bootstrap_servers}


def scrapes(cluster: Cluster) -> list[Scraped]:
    return [scrape(broker) for broker in cluster.brokers.values() if broker.is_running]


def total(cluster: Cluster, name: str, **labels: object) -> float:
    return sum(one.total(name, **labels) for one in scrapes(cluster))


def test_traffic_counts_what_clients_sent_and_read(cluster: Cluster, config: dict[str, object]) -> None:
    with Admin(config) as admin:
        admin.create_topic("traffic", partitions=2, replication_factor=3)
    with Producer(config) as producer:
        for number in range(RECORDS):
            producer.send("traffic", VALUE, key=str(number).encode()).result()
    assert total(cluster, "tidelog_topic_received_records_total", topic="traffic") == RECORDS
    received = total(cluster, "tidelog_topic_received_bytes_total", topic="traffic")
    assert RECORDS * len(VALUE) < received < 3 * RECORDS * len(VALUE)
    with Consumer({**config, "group.id": "readers", "auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe(["traffic"])
        seen = 0
        while seen < RECORDS:
            seen += len(consumer.poll(timeout_ms=500))
    assert total(cluster, "tidelog_topic_sent_bytes_total", topic="traffic") >= received
    assert total(cluster, "tidelog_topic_partitions", topic="traffic") == 2
    eventually(lambda: total(cluster, "tidelog_topic_size_bytes", topic="traffic") == 3 * received)

    def copies_agree() -> None:
        copied = total(cluster, "tidelog_replication_received_bytes_total")
        assert copied == total(cluster, "tidelog_replication_sent_bytes_total") >= 2 * received

    until_it_holds(copies_agree)


def test_transactions_and_commits_are_counted(cluster: Cluster, config: dict[str, object]) -> None:
    with TransactionalProducer({**config, "transactional.id": "counted"}) as producer:
        with producer.transaction() as transaction:
            transaction.send("traffic", b"kept")
        with suppress(ZeroDivisionError), producer.transaction() as transaction:
            transaction.send("traffic", b"dropped").result()
            _ = 1 / 0

    def counted() -> None:
        assert total(cluster, "tidelog_transactions_ended_total", outcome="committed") == 1
        assert total(cluster, "tidelog_transactions_ended_total", outcome="aborted") == 1
        assert total(cluster, "tidelog_transactions") == 1
        # Markers are no records.
        assert total(cluster, "tidelog_topic_received_records_total", topic="traffic") == RECORDS + 2
        assert total(cluster, "tidelog_offset_commits_total") >= 2
        assert total(cluster, "tidelog_group_rebalances_total") >= 1
        assert total(cluster, "tidelog_groups") == 1
        assert total(cluster, "tidelog_coordinator_shards", state="active") == 100

    until_it_holds(counted)


def test_lag_in_records_and_seconds_at_the_coordinator(cluster: Cluster, config: dict[str, object]) -> None:
    with Admin(config) as admin:
        admin.create_topic("lagging", partitions=6, replication_factor=3)
        places = {TopicPartition("lagging", index): 0 for index in range(6)}
        admin.set_group_offsets("behind", places)
    # The coordinator asks the leaders of all partitions, of which it leads a third itself.
    eventually(lambda: len(lags(cluster, "records")) == 6)
    assert lags(cluster, "records") == [0] * 6
    assert lags(cluster, "seconds") == [0] * 6
    began = time.monotonic()
    with Producer(config) as producer:
        for index in range(6):
            for _ in range(index):
                producer.send("lagging", VALUE, partition=index).result()
    eventually(lambda: sorted(lags(cluster, "records")) == [0, 1, 2, 3, 4, 5])
    eventually(lambda: total(cluster, "tidelog_group_total_lag_records", group="behind") == 15)
    time.sleep(1)
    slowest = max(lags(cluster, "seconds"))
    assert 1 <= slowest <= time.monotonic() - began + 0.5
    assert total(cluster, "tidelog_group_lag_seconds_max", group="behind") >= slowest
    with Admin(config) as admin:
        admin.set_group_offsets("behind", {TopicPartition("lagging", 5): 3, TopicPartition("lagging", 4): 4})
    eventually(lambda: sorted(lags(cluster, "records")) == [0, 0, 1, 2, 2, 3])
    assert total(cluster, "tidelog_group_lag_unknown_partitions") == 0


def lags(cluster: Cluster, unit: str) -> list[float]:
    pages = scrapes(cluster)
    return [lag for one in pages for lag in one.values(f"tidelog_group_lag_{unit}", group="behind")]


def test_sums_of_partitions_agree_with_the_controller(cluster: Cluster) -> None:
    def all_agree() -> None:
        seen = scrapes(cluster)
        controllers = [one for one in seen if one.value("tidelog_active_controller")]
        assert len(controllers) == 1
        controller = controllers[0]
        assert sum(one.value("tidelog_leaders") for one in seen) == controller.value("tidelog_partitions")
        assert controller.value("tidelog_brokers", state="active") == 3
        assert controller.value("tidelog_offline_partitions") == 0
        assert controller.value("tidelog_topics") == len(controller.values("tidelog_topic_partitions"))
        for one in seen:
            assert one.value("tidelog_ready") == 1
            assert one.value("tidelog_raft_term") == controller.value("tidelog_raft_term")
            assert one.total("tidelog_raft_role") == 1
            assert one.value("tidelog_damaged_partitions") == 0
        assert controller.value("tidelog_raft_role", role="leader") == 1
        assert len(controller.values("tidelog_raft_voter_lag_entries")) == 3

    until_it_holds(all_agree)


def test_a_partition_that_moves_is_no_unclean_election(cluster: Cluster, config: dict[str, object]) -> None:
    elections = scrape(cluster.brokers[2]).value("tidelog_leader_elections_total")
    with Admin(config) as admin:
        admin.create_topic("moving", partitions=1, replication_factor=1)
        home = admin.describe_topic("moving").partitions[0].leader
    where = ["--brokers", str(home % 3 + 1), "-b", cluster.bootstrap_servers]
    assert run(["topic", "reassign", "moving", *where]) == 0
    eventually(lambda: scrape(cluster.brokers[2]).value("tidelog_leader_elections_total") > elections)
    assert total(cluster, "tidelog_unclean_elections_total") == 0
    with Admin(config) as admin:
        admin.delete_topics("moving")
    eventually(
        lambda: all(not one.total("tidelog_topic_partitions", topic="moving") for one in scrapes(cluster))
    )


def test_a_dead_broker_shows_in_the_sets_of_the_others(cluster: Cluster) -> None:
    eventually(lambda: total(cluster, "tidelog_under_replicated_partitions") == 0)
    led = scrape(cluster.brokers[1]).value("tidelog_leaders")
    assert led
    elections = scrape(cluster.brokers[2]).value("tidelog_leader_elections_total")
    cluster.kill(1)
    partitions = scrape(cluster.brokers[2]).value("tidelog_replicas")
    eventually(lambda: total(cluster, "tidelog_under_replicated_partitions") == partitions)
    eventually(lambda: total(cluster, "tidelog_at_min_isr_partitions") == partitions)
    eventually(lambda: total(cluster, "tidelog_isr_shrinks_total") >= partitions - led)
    eventually(lambda: scrape(cluster.brokers[2]).value("tidelog_leader_elections_total") - elections >= led)
    assert total(cluster, "tidelog_unclean_elections_total") == 0
    eventually(lambda: max(one.value("tidelog_raft_leader") for one in scrapes(cluster)) > 1)
    cluster.restart(1)
    eventually(lambda: total(cluster, "tidelog_under_replicated_partitions") == 0, 40)
    assert total(cluster, "tidelog_isr_expands_total") >= partitions


def test_a_queue(cluster: Cluster, config: dict[str, object]) -> None:
    with Admin(config) as admin:
        admin.create_topic("jobs", partitions=1, replication_factor=3)
    with Queue("jobs", cluster.bootstrap_servers) as jobs:
        jobs.send(VALUE).result(20)
        job = jobs.get(20_000)
        assert job is not None
        eventually(lambda: total(cluster, "tidelog_share_group_acquired_records", group="jobs") == 1)
        assert total(cluster, "tidelog_share_sessions") == 1
        assert set().union(*(one.families for one in scrapes(cluster))) >= WHILE_MEMBERS_WORK
        job.done()
        jobs.flush()
    assert total(cluster, "tidelog_share_deliveries_total") == 1
    assert total(cluster, "tidelog_share_acknowledgements_total", type="accept") == 1
    eventually(lambda: total(cluster, "tidelog_share_group_depth_records", group="jobs") == 0)


def test_clients_that_are_held_back_or_refused(tmp_path: Path, cluster: Cluster) -> None:
    """And then every metric has been seen, on one broker or another."""
    settings = {"metrics.port": -1, "audit.file": str(tmp_path / "audit.log")}
    with Broker(settings=settings, security=Security(users=["ann"], acls=[])) as broker:
        with Admin(broker.client_config("admin")) as admin:
            admin.create_topic("secret")
        with Producer(broker.client_config("ann")) as producer, pytest.raises(AuthorizationFailed):
            producer.send("secret", b"mine").result()
        page = scrape(broker)
    assert page.total("tidelog_authorization_denials_total", resource_type="topic") >= 1
    assert page.value("tidelog_audit_events_total") >= 1
    assert page.value("tidelog_audit_lost_events_total") == 0
    call = urllib.request.Request(
        cluster.schema_registry_url.split(",")[0] + "/subjects/secret-value/versions",
        b'{"schema": "\\"string\\""}',
        {"content-type": "application/json"},
    )
    urllib.request.urlopen(call).close()
    seen = page.families.union(*(one.families for one in scrapes(cluster)))
    assert set(FAMILIES) - seen <= set(ELSEWHERE)
    assert seen <= set(FAMILIES)
