"""A member of a cluster that starts: it refuses connections or serves them, and never takes one to end it."""

import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.faults.raw_client import Closed, RawClient, wait_until
from tidelog.testing import Cluster
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.usefixtures("no_failures")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=3) as running:
        yield running


class Callers:
    """Connect to one port again and again, and ask for metadata."""

    def __init__(self, port: int) -> None:
        self.seen: Counter[str] = Counter()
        self._port = port
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._call) for _ in range(3)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        while not self._stop.is_set():
            try:
                with RawClient(self._port) as client:
                    answer = client.ask(ApiKey.METADATA, MetadataRequest(topics=[]))
                    self.seen["answered" if answer.brokers else "answered without brokers"] += 1
            except ConnectionRefusedError:
                self.seen["refused"] += 1
            except (Closed, ConnectionResetError):
                self.seen["closed"] += 1
            time.sleep(0.002)


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_nobody_sees_it_end_a_connection(cluster: Cluster, how: str) -> None:
    end = cluster.stop_broker if how == "stopped" else cluster.kill
    end(3)
    with Callers(cluster.brokers[3].fixed_port) as callers:
        wait_until(lambda: callers.seen["refused"] > 0, "calls while nobody listens")
        cluster.restart(3)
        wait_until(lambda: callers.seen["answered"] > 5, "calls are answered")
    assert set(callers.seen) == {"refused", "answered"}
