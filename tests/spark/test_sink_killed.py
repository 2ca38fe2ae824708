"""kill -9 of the driver's JVM, of a Python worker and of a broker: the output has every row once."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.rigs.repository import ROOT
from tests.spark import stream_job
from tests.spark.stream_job import Job
from tidelog.blocking.cluster import Cluster as BlockingCluster
from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.settings import ClusterSettings
from tidelog.testing import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3, settings={"transaction.two.phase.commit.enable": True}) as running:
        yield running


def job_on(cluster: Cluster, spark: "SparkSession", topic: str, directory: Path) -> Job:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    admin.create_topics([NewTopic(topic, 3, 3)])[topic].result(60)
    return Job(spark, cluster.bootstrap_servers, topic, directory)


def test_killed_jvm_and_worker(spark: "SparkSession", cluster: Cluster, tmp_path: Path) -> None:
    """The worker's task is tried again in the same batch; the JVM dies when that batch is decided."""
    job = job_on(cluster, spark, "jvm", tmp_path)
    flag = tmp_path / "dead"
    job.feed(f"die once: {flag}")
    command = [sys.executable, "-m", stream_job.__name__, job.servers, job.topic, str(tmp_path)]
    child = subprocess.run(
        [*command, "dying-after-decide", "JVM"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "lived" not in child.stdout, child.stdout
    assert flag.exists(), f"no worker died\n{child.stderr[-2000:]}"
    job.feed()
    assert job.run("tidelog")
    job.check()


def test_killed_broker(spark: "SparkSession", cluster: Cluster, tmp_path: Path) -> None:
    """The one that leads a partition of the output dies while batches are written."""
    job = job_on(cluster, spark, "broker", tmp_path)
    for _ in range(6):
        job.feed()
    query = job.start("tidelog")
    while query.isActive and not query.recentProgress:
        time.sleep(0.02)
    with BlockingCluster(ClusterSettings(tuple(cluster.bootstrap_servers.split(",")))) as client:
        victim = client.leader(TopicPartition("broker", 0))
    cluster.kill(victim)
    query.awaitTermination()
    job.check()
    cluster.restart(victim)
