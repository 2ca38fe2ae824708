"""`tidelog.Queue` against a real broker: jobs are done once, retried, given back and lost as documented.

With TIDELOG_INTEROP_BOOTSTRAP the same tests run against Apache Kafka, where delays are refused.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.client_calls import NOWHERE
from tidelog import (
    Admin,
    AuthorizationFailed,
    ConfigurationError,
    ConnectionFailed,
    DeserializationError,
    Job,
    JobLost,
    Queue,
    UnknownTopic,
    UnsupportedByBroker,
    UsageError,
    json_deserializer,
    json_serializer,
)
from tidelog.testing import Broker, Cluster, Security

WAIT_MS = 20_000
IS_APACHE = "TIDELOG_INTEROP_BOOTSTRAP" in os.environ
SHORT_LOCKS = {
    "group.share.min.record.lock.duration.ms": 1000,
    "group.share.record.lock.duration.ms": 1000,
}
WORKER = Path(__file__).parent / "members" / "queue_worker.py"


@pytest.fixture
def group() -> str:
    return f"workers-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def jobs(broker_address: str, topic: str, group: str) -> Iterator[Queue[bytes, bytes]]:
    with Queue(topic, broker_address, group_id=group) as queue:
        yield queue


def test_jobs_sent_before_the_first_worker_are_done_once(jobs: Queue[bytes, bytes]) -> None:
    for number in range(100):
        jobs.send(str(number), key="k")
    seen = []
    for job in jobs.take(timeout_ms=WAIT_MS, limit=100):
        assert job.delivery_count == 1
        assert job.key == b"k"
        seen.append(job.value)
        job.done()
    jobs.flush()
    assert seen == [b"%d" % number for number in range(100)]
    assert jobs.get(1000) is None


def test_what_one_worker_has_another_does_not_get(
    jobs: Queue[bytes, bytes], broker_address: str, topic: str, group: str
) -> None:
    with Queue(topic, broker_address, group_id=group, prefetch=3) as other:
        for number in range(50):
            jobs.send(str(number))
        seen: Counter[bytes] = Counter()
        deadline = time.monotonic() + WAIT_MS / 1000
        while len(seen) < 50 and time.monotonic() < deadline:
            for queue in (jobs, other):
                job = queue.get(200)
                if job is not None:
                    seen[job.value or b""] += 1
                    job.done()
        assert seen == Counter({b"%d" % number: 1 for number in range(50)})


def test_workers_that_take_one_job_and_end_deliver_no_others(
    jobs: Queue[bytes, bytes], broker_address: str, topic: str, group: str
) -> None:
    """(They had taken ten, given nine back, and so used up the deliveries of jobs that nobody saw.)"""
    for number in range(6):
        jobs.send(str(number)).result()
    seen = []
    for _ in range(6):
        with Queue(topic, broker_address, group_id=group) as worker:
            job = worker.get(WAIT_MS)
            assert job is not None
            seen.append((job.value, job.delivery_count))
            job.done()
    assert seen == [(b"%d" % number, 1) for number in range(6)]


def test_a_job_given_back_comes_again_with_its_count(jobs: Queue[bytes, bytes]) -> None:
    jobs.send("once more")
    first, second = jobs.take(timeout_ms=WAIT_MS, limit=1), jobs.take(timeout_ms=WAIT_MS, limit=1)
    next(first).retry()
    again = next(second)
    assert (again.value, again.delivery_count) == (b"once more", 2)
    again.done()
    jobs.flush(again)


@pytest.mark.skipif(IS_APACHE, reason="Apache Kafka has no delays")
def test_a_retry_waits_for_its_delay(jobs: Queue[bytes, bytes]) -> None:
    jobs.send("later")
    job = jobs.get(WAIT_MS)
    assert job is not None
    job.retry(after=1.0)
    jobs.flush()
    begun = time.monotonic()
    again = jobs.get(WAIT_MS)
    assert again is not None
    assert 0.9 <= time.monotonic() - begun < 3.0
    again.done()


if IS_APACHE:

    def test_a_delay_is_refused(jobs: Queue[bytes, bytes]) -> None:
        jobs.send("later")
        job = jobs.get(WAIT_MS)
        assert job is not None
        with pytest.raises(UnsupportedByBroker, match="needs Tidelog"):
            job.retry(after=1.0)
        job.done()


@pytest.mark.skipif(IS_APACHE, reason="Apache Kafka has no delays")
def test_a_scheduled_job_is_not_taken_early(jobs: Queue[bytes, bytes]) -> None:
    assert jobs.get(500) is None
    sent = time.time()
    jobs.send("later", delay=1.5).result(20)
    jobs.send("much later", at=int(sent * 1000) + 2_500).result(20)
    for after_s, value in ((1.5, b"later"), (2.5, b"much later")):
        job = jobs.get(WAIT_MS)
        assert job is not None
        assert job.value == value
        assert after_s - 0.05 <= time.time() - sent < after_s + 2
        job.done()


def test_a_failed_job_does_not_come_again(jobs: Queue[bytes, bytes]) -> None:
    jobs.send("bad")
    job = jobs.get(WAIT_MS)
    assert job is not None
    job.fail()
    jobs.flush()
    assert jobs.get(1500) is None


def test_a_block_that_raises_gives_its_job_back(jobs: Queue[bytes, bytes]) -> None:
    jobs.send("hot")
    job = jobs.get(WAIT_MS)
    assert job is not None
    with pytest.raises(ZeroDivisionError), job:
        _ = 1 // 0
    again = jobs.get(WAIT_MS)
    assert again is not None
    with again:
        assert again.delivery_count == 2
    with pytest.raises(UsageError, match="acknowledged already"):
        again.done()
    jobs.flush()


def test_a_value_that_cannot_be_read_is_given_back(broker_address: str, topic: str, group: str) -> None:
    with Queue(
        topic,
        broker_address,
        group_id=group,
        value_serializer=json_serializer,
        value_deserializer=json_deserializer,
    ) as jobs:
        jobs.send({"n": 1})
        jobs._sender()._sender.client.produce(topic, b"{no json")
        for job in jobs.take(timeout_ms=WAIT_MS, limit=2):
            if job.offset == 0:
                with job:
                    assert job.value == {"n": 1}
            else:
                with pytest.raises(DeserializationError, match="could not be read"), job:
                    _ = job.value


@pytest.mark.skipif(IS_APACHE, reason="it starts a broker of its own")
def test_a_lock_ends_unless_it_is_extended() -> None:
    with (
        Broker(settings=SHORT_LOCKS) as broker,
        Queue("jobs", broker.bootstrap_servers, auto_extend_ms=0) as jobs,
        Queue("jobs", broker.bootstrap_servers) as others,
    ):
        jobs.send("slow")
        job = jobs.get(WAIT_MS)
        assert job is not None
        for _ in range(4):
            time.sleep(0.5)
            job.extend()
        assert not job.is_lost
        assert others.get(100) is None
        again = others.get(WAIT_MS)
        assert again is not None
        assert again.delivery_count >= 2
        assert job.is_lost
        with pytest.raises(JobLost, match="lock ended"):
            job.done()
        time.sleep(2)  # this queue extends its locks by itself
        again.done()
        others.flush(again)


@pytest.mark.skipif(IS_APACHE, reason="it starts a broker of its own")
def test_a_job_survives_the_end_of_its_sasl_session() -> None:
    settings = {**SHORT_LOCKS, "connections.max.reauth.ms": 1500}
    with Broker(settings=settings, security="sasl_plaintext") as broker:
        with Admin(broker.client_config()) as admin:
            admin.create_topic("jobs")
        with Queue("jobs", broker.client_config()) as jobs:
            jobs.send("long").result(20)
            job = jobs.get(WAIT_MS)
            assert job is not None
            time.sleep(4)
            assert not job.is_lost
            job.done()
            jobs.flush(job)


@pytest.mark.skipif(IS_APACHE, reason="it starts a broker of its own")
def test_a_client_without_permission_learns_what_is_missing() -> None:
    security = Security("sasl_plaintext", users=["bob"], acls=[("bob", "Read", "topic", "jobs")])
    with Broker(security=security) as broker:
        with Admin(broker.client_config()) as admin:
            admin.create_topic("jobs")
        with (
            Queue("jobs", broker.client_config("bob")) as jobs,
            pytest.raises(AuthorizationFailed, match="--operation read --group jobs"),
        ):
            jobs.get(WAIT_MS)


def test_workers_share_the_jobs_and_survive_their_handlers(
    jobs: Queue[bytes, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    done: Counter[bytes] = Counter()
    lock = threading.Lock()

    def handle(job: Job[bytes, bytes]) -> None:
        if job.delivery_count == 1 and job.value in (b"3", b"7"):
            raise ValueError("the first attempt fails")
        with lock:
            done[job.value or b""] += 1
        if job.value == b"9":
            job.done()
            raise ValueError("too late to try it again")

    for number in range(40):
        jobs.send(str(number))
    jobs.work(handle, workers=4, timeout_ms=4000)
    assert done == Counter({b"%d" % number: 1 for number in range(40)})
    fates = Counter(record.message.rpartition(" and ")[2] for record in caplog.records if record.exc_info)
    assert fates == {"the job is given back": 2, "the job is done": 1}


def test_sigterm_finishes_what_is_under_way(broker_address: str, topic: str, group: str) -> None:
    with Queue(topic, broker_address, group_id=group) as jobs:
        for number in range(20):
            jobs.send(str(number))
    worker = subprocess.Popen(
        [sys.executable, str(WORKER), broker_address, topic, group],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    begun = [worker.stdout.readline().split() for _ in range(2)]
    assert [words[0] for words in begun] == ["begin", "begin"]
    worker.send_signal(signal.SIGTERM)
    rest = worker.stdout.read()  # `communicate` would miss what is in the buffer already
    assert worker.wait(30) == 0
    ended = {words[1] for line in rest.splitlines() if (words := line.split())[0] == "end"}
    assert {words[1] for words in begun} <= ended
    with Queue(topic, broker_address, group_id=group) as jobs:
        left = {job.value for job in drained(jobs)}
    assert left == {b"%d" % number for number in range(20)} - {number.encode() for number in ended}


def drained(jobs: Queue[bytes, bytes]) -> Iterator[Job[bytes, bytes]]:
    for job in jobs.take(timeout_ms=5000):
        yield job
        job.done()


def test_a_program_that_ends_without_closing_its_queue_has_done_its_jobs(
    jobs: Queue[bytes, bytes], broker_address: str, topic: str, group: str
) -> None:
    """(They came again, and again, until the group gave up on them.)"""
    for number in range(2):
        jobs.send(str(number)).result()
    script = (
        "from tidelog import Queue\n"
        f"job = Queue({topic!r}, {broker_address!r}, group_id={group!r}).get({WAIT_MS})\n"
        "print(job.value.decode())\n"
        "job.done()\n"
    )
    ended = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [each.stdout for each in ended] == ["0\n", "1\n"]
    assert "a queue was not closed, and 1 of its acknowledgements" in ended[0].stderr
    assert jobs.get(1000) is None


def test_closing_gives_jobs_back_at_once(broker_address: str, topic: str, group: str) -> None:
    with Queue(topic, broker_address, group_id=group) as first:
        first.send("taken and left")
        job = first.get(WAIT_MS)
        assert job is not None
    assert job.is_lost
    with Queue(topic, broker_address, group_id=group) as second:
        again = second.get(WAIT_MS)
        assert again is not None
        assert again.value == b"taken and left"
        again.done()


def test_mistakes_are_explained(broker_address: str, topic: str) -> None:
    with Queue("no-such-topic", broker_address) as jobs, pytest.raises(UnknownTopic, match="topic create"):
        jobs.get(WAIT_MS)
    with Queue("jobs", NOWHERE, request_timeout_ms=500) as jobs, pytest.raises(ConnectionFailed):
        jobs.get(WAIT_MS)
    with pytest.raises(ConfigurationError, match="prefetch"):
        Queue("jobs", broker_address, prefetch=0)
    with pytest.raises(ConfigurationError, match="no such setting"):
        Queue("jobs", broker_address, prefetsch=1)
    with Queue(topic, broker_address) as jobs:
        with pytest.raises(UsageError, match="either a delay or a time"):
            jobs.send("x", delay=1, at=5)
        with pytest.raises(UsageError, match="not a time to wait"):
            jobs.send("x", delay=-1)


@pytest.mark.skipif(IS_APACHE, reason="it starts brokers of its own")
def test_a_cluster_loses_a_leader_and_every_job_is_done() -> None:
    with Cluster(brokers=3) as cluster:
        with Admin({"bootstrap.servers": cluster.bootstrap_servers}) as admin:
            admin.create_topic("jobs", partitions=3, replication_factor=3)
        with Queue("jobs", cluster.bootstrap_servers, prefetch=6) as jobs:
            receipts = [jobs.send(str(number)) for number in range(300)]
            for receipt in receipts:
                receipt.result(30)
            done: set[Any] = set()
            for job in jobs.take(timeout_ms=WAIT_MS):
                try:
                    job.done()
                    done.add(job.value)
                except JobLost:
                    continue
                if len(done) == 100:
                    cluster.brokers[1].kill()
                if len(done) == 300:
                    break
            assert len(done) == 300
