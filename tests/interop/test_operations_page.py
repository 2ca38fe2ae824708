"""docs/operations.md: every command on the page runs against a cluster of three brokers, as it stands."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.interop.command_line import console_commands, run_here
from tests.interop.waiting import eventually
from tests.rigs.repository import ROOT
from tidelog import Admin, TopicPartition
from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.clients.errors import CoordinatorUnavailable
from tidelog.testing import Cluster

COMMANDS = console_commands(ROOT / "docs" / "operations.md")
FINDS_SOMETHING = ("tidelog doctor", "tidelog security check")
"""A cluster on one machine without security is not without findings."""


def committed(admin: Admin) -> bool:
    """The coordinator of a new cluster may have to load first."""
    try:
        admin.set_group_offsets("billing", {TopicPartition("orders", 0): 0})
    except CoordinatorUnavailable:
        return False
    return True


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
    with Cluster(brokers=3, settings=settings, data_dir=tmp_path_factory.mktemp("operations")) as running:
        where = {"bootstrap.servers": running.bootstrap_servers}
        with Admin(where) as admin:
            admin.create_topic("orders", partitions=3, replication_factor=3)
            eventually(lambda: committed(admin))
        producer = Producer(where)
        producer.produce("orders", b"one", partition=0)
        assert producer.flush(30) == 0
        yield running


def test_the_page_has_its_commands() -> None:
    assert len(COMMANDS) > 20
    assert all(line.startswith("tidelog ") for line in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_runs(
    command: str,
    cluster: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIDELOG_BOOTSTRAP_SERVERS", cluster.bootstrap_servers)
    done = run_here(capsys, monkeypatch, shlex.split(command)[1:], b"", None)
    assert done.code == 0 or (command in FINDS_SOMETHING and done.code in (1, 2)), done.out + done.err
