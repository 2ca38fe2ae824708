"""The image, built and run: `make image-test`, which needs root, buildah, podman, runc and debootstrap.

Not among the tests of `make test`: the first build takes minutes, since the base image is made as well.
"""

import subprocess
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from tests.deploy.docker_files import BROKERS
from tests.deploy.podman import BASE, IMAGE, LIMITS, Cluster, build_images, inspect, podman
from tests.interop.broker_process import console_script

RECORDS = 1000
LAYER_BYTES_MAX = 150_000_000
START_S_MAX = 30.0
pytestmark = pytest.mark.timeout(1200)


@pytest.fixture(scope="module", autouse=True)
def images() -> None:
    build_images()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        status(running)
        yield running


def status(cluster: Cluster) -> None:
    command = [console_script(), "-b", cluster.servers, "cluster", "status", "--wait", "90"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    logs = {service: podman("logs", cluster.name(service), check=False)[-2000:] for service in BROKERS}
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{logs}"


def produce(servers: str, texts: list[str]) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True})
    failed = []
    for text in texts:
        producer.produce(
            "t", text.encode(), on_delivery=lambda error, _: failed.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert failed == []


def consume(servers: str, count: int) -> set[str]:
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": f"g-{count}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["t"])
    got: set[str] = set()
    deadline = time.monotonic() + 60
    while len(got) < count and time.monotonic() < deadline:
        got |= {message.value().decode() for message in consumer.consume(500, 1.0) if not message.error()}
    consumer.close()
    return got


def test_the_image_is_small_and_starts_soon() -> None:
    added = inspect(IMAGE, "image")["Size"] - inspect(BASE, "image")["Size"]
    began = time.monotonic()
    version = podman("run", "--rm", *LIMITS, IMAGE, "--version")
    seconds = time.monotonic() - began
    print(f"\nTidelog adds {added / 1e6:.0f} MB to its base; {version} after {seconds:.1f} s")
    assert added < LAYER_BYTES_MAX
    assert seconds < START_S_MAX


def test_it_runs_without_root_on_a_file_system_that_it_cannot_change(cluster: Cluster) -> None:
    name = cluster.name("broker-1")
    assert podman("exec", name, "id", "-u") == "10001"
    status = podman("exec", name, "cat", "/proc/1/status")
    assert "NoNewPrivs:\t1" in status
    assert "CapEff:\t0000000000000000" in status
    denied = subprocess.run(
        ["podman", "exec", name, "touch", "/opt/tidelog/x"], capture_output=True, check=False
    )
    assert b"Read-only file system" in denied.stderr
    assert podman("exec", name, "sh", "-c", "ls /opt/tidelog/bin").split().count("pip") == 0


def test_the_health_check_passes(cluster: Cluster) -> None:
    for service in BROKERS:
        assert podman("healthcheck", "run", cluster.name(service)) in ("", "healthy")


def test_records_pass_and_a_killed_broker_comes_back(cluster: Cluster) -> None:
    command = [console_script(), "-b", cluster.servers, "topic", "create", "t", "--partitions", "6"]
    subprocess.run(command, check=True, timeout=60)
    produce(cluster.servers, [f"a{n}" for n in range(RECORDS)])
    assert len(consume(cluster.servers, RECORDS)) == RECORDS
    podman("kill", "--signal", "KILL", cluster.name("broker-2"))
    produce(cluster.servers, [f"b{n}" for n in range(RECORDS)])
    podman("start", cluster.name("broker-2"))
    status(cluster)
    assert len(consume(cluster.servers, 2 * RECORDS)) == 2 * RECORDS


def test_sigterm_stops_all_of_them_cleanly(cluster: Cluster) -> None:
    for service in BROKERS:
        podman("stop", "--time", "60", cluster.name(service))
        assert inspect(cluster.name(service))["State"]["ExitCode"] == 0
        assert "Stopped cleanly" in podman("logs", cluster.name(service))
