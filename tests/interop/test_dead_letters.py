"""Dead letters and delays on real brokers: once each, also if their leader dies and no worker comes back."""

import json
import time

import pytest

from tidelog import Queue
from tidelog.cli.main import run
from tidelog.testing import Cluster

JOBS = 30


def letters_of(brokers: str, capsys: pytest.CaptureFixture[str], seconds: float = 60) -> list[str]:
    """The values of the dead letters, once there are as many as jobs; twice the same shows, too."""
    deadline = time.monotonic() + seconds
    values: list[str] = []
    while len(values) < JOBS and time.monotonic() < deadline:
        time.sleep(0.5)
        capsys.readouterr()
        assert run(["-b", brokers, "consume", "dlq.jobs", "--json"]) == 0
        values = [json.loads(line)["value"] for line in capsys.readouterr().out.splitlines()]
    return values


def test_dead_letters_are_written_once_though_their_leader_dies(capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster(brokers=3) as cluster:
        brokers = cluster.bootstrap_servers
        assert run(["-b", brokers, "topic", "create", "jobs", "-p", "3"]) == 0
        name = "errors.deadletterqueue.topic.name=dlq.jobs"
        assert run(["-b", brokers, "config", "set", "group", "jobs", name]) == 0
        with Queue("jobs", brokers) as jobs:
            for number in range(JOBS):
                jobs.send(f"job {number}")
            for job in jobs.take(timeout_ms=30_000, limit=JOBS):
                job.fail()
            jobs.flush()
        cluster.kill(1)  # it leads one of the partitions, whose dead letters wait for their topic
        left = ",".join(cluster.brokers[node].bootstrap_servers for node in (2, 3))
        enabled = "errors.deadletterqueue.group.enable=true"
        assert run(["-b", left, "topic", "create", "dlq.jobs", "-p", "1", "-c", enabled]) == 0
        values = letters_of(left, capsys)
        assert sorted(values) == sorted(f"job {number}" for number in range(JOBS))


def test_a_scheduled_job_comes_when_it_is_due() -> None:
    with Cluster(brokers=1) as cluster, Queue("later", cluster.bootstrap_servers) as later:
        assert run(["-b", cluster.bootstrap_servers, "topic", "create", "later"]) == 0
        sent = time.time()
        later.send("in a while", delay=3)
        later.send("now")
        came = {}
        for job in later.take(timeout_ms=30_000, limit=2):
            came[job.value] = time.time() - sent
            job.done()
        assert list(came) == [b"now", b"in a while"]
        assert came[b"in a while"] >= 2.99
