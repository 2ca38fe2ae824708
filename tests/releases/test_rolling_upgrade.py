"""Brokers of the last release are replaced by this version, one by one, while every client works.

Nothing fails, back and forth, as long as no feature is raised; and none can be until all brokers know it.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from tests.chaos.process_cluster import ProcessCluster
from tests.chaos.victim import RUN_TIDELOG
from tests.interop.all_drivers import CLIENTS
from tests.interop.client_crowd import Crowd, names_of_clients
from tests.interop.driver import EARLIEST
from tests.releases.release import Release, releases

pytestmark = pytest.mark.timeout(300)

TOPIC = "through-an-upgrade"


@pytest.fixture(scope="module")
def connect(cluster: ProcessCluster, source_of: Callable[[Release], Path]) -> Iterator[Callable[[str], Any]]:
    for member in cluster.members.values():
        member.source = source_of(releases()[-1])
    cluster.start()
    opened: dict[str, Any] = {}
    with ExitStack() as stack:

        def connect_one(name: str) -> Any:
            if name not in opened:
                opened[name] = CLIENTS[name].driver(cluster.bootstrap_servers)
                stack.callback(opened[name].close)
            return opened[name]

        yield connect_one


@pytest.fixture(scope="module")
def crowd(cluster: ProcessCluster, connect: Callable[[str], Any]) -> Iterator[Crowd]:
    cluster.create_topic(TOPIC, len(names_of_clients()))
    running = Crowd(connect, TOPIC)
    yield running
    running.close()


def replace(cluster: ProcessCluster, id: int, source: Path | None) -> None:
    member = cluster.members[id]
    assert member.terminate() == 0, member.log_tail()
    member.source = source
    member.launch()
    member.until_ready()
    cluster.until_whole()


def run_cluster(servers: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN_TIDELOG, "-b", servers, "cluster", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def raise_features(cluster: ProcessCluster) -> None:
    done = run_cluster(cluster.bootstrap_servers, "upgrade")
    assert done.returncode == 0, done.stdout + done.stderr


def test_brokers_are_replaced_one_by_one(
    cluster: ProcessCluster, crowd: Crowd, source_of: Callable[[Release], Path]
) -> None:
    crowd.goes_on()
    replace(cluster, 1, None)
    # The controller is one of the others, and does not know what this broker would pass on to it.
    asked = run_cluster(cluster.members[1].address, "can-stop", "2")
    assert "of an earlier release, which does not know CanStopBroker" in asked.stderr, asked
    crowd.goes_on()
    replace(cluster, 1, source_of(releases()[-1]))  # the way back
    crowd.goes_on()
    for id in cluster.members:
        replace(cluster, id, None)
        crowd.goes_on()
        if id != max(cluster.members):
            with pytest.raises(AssertionError, match=r"[Bb]roker.* 3"):
                raise_features(cluster)
    assert re.search(r"share\.version\s+0 ", run_cluster(cluster.bootstrap_servers, "features").stdout)
    raise_features(cluster)
    assert re.search(r"share\.version\s+2 ", run_cluster(cluster.bootstrap_servers, "features").stdout)
    crowd.goes_on()
    # What the earlier release did not know can be stored from now on.
    change = UserScramCredentialUpsertion(
        "alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"secret"
    )
    cluster.admin.alter_user_scram_credentials([change])["alice"].result(30)


def test_what_was_written_is_there(
    cluster: ProcessCluster, crowd: Crowd, connect: Callable[[str], Any]
) -> None:
    """Read once more from the start: each partition holds its writer's numbers, each once, in order."""
    crowd.finish()
    for name, writer in crowd.writers.items():
        records = connect("confluent").consume(TOPIC, EARLIEST, len(writer.offsets), [writer.partition])
        assert [int(record.value) for record in records] == list(range(len(writer.offsets))), name
    for member in cluster.members.values():
        assert "Traceback" not in member.log_text()
        assert "stopping anyway" not in member.log_text()
        assert "are aborted" not in member.log_text()
