"""A stream whose sink dies between any two steps of its commit: the output has every row once."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark import dying_sink
from tests.spark.read_back import counted
from tests.spark.stream_job import Job
from tidelog.blocking.cluster import Cluster
from tidelog.blocking.settings import ClusterSettings
from tidelog.blocking.transactions import TransactionCalls
from tidelog.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import Topics


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(settings={"transaction.two.phase.commit.enable": True}) as running:
        yield running


@pytest.fixture
def job(spark: "SparkSession", broker: Broker, topics: "Topics", tmp_path: Path) -> Job:
    dying_sink.register(spark)
    return Job(spark, broker.bootstrap_servers, topics.create(2), tmp_path)


def under_way(servers: str) -> dict[str, str]:
    with Cluster(ClusterSettings((servers,))) as cluster:
        return TransactionCalls(cluster).under_way("tidelog-spark")


def test_every_row_once_through_deaths_at_every_step(job: Job) -> None:
    for step in dying_sink.STEPS:
        job.feed()
        assert not job.run(f"dying-after-{step}"), f"it was to die after {step}"
        assert job.run("tidelog"), f"it did not recover from a death after {step}"
        job.check()
    assert under_way(job.servers) == {}, "transactions that nobody ends"


@pytest.mark.parametrize("step", ["prepare", "half-finish"])
def test_an_abort_takes_back_nothing_that_was_decided(job: Job, step: str) -> None:
    job.feed()
    assert not job.run(f"failing-after-{step}")
    expected = dict.fromkeys(job.rows, 1) if step == "half-finish" else {}
    assert counted(job.servers, job.topic) == expected
    assert job.run("tidelog")
    job.check()


def test_a_task_that_is_killed_leaves_nothing_behind(job: Job, tmp_path: Path) -> None:
    job.feed(f"die once: {tmp_path / 'dead'}")
    assert not job.run("dying-after-nothing")
    assert job.run("dying-after-nothing")
    job.check()
    assert under_way(job.servers) == {}
