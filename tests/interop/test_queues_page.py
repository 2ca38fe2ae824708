"""docs/queues.md: every command on the page runs as it stands, in the order of the page, on one broker."""

import shlex

import pytest

from tests.interop.command_line import console_commands, run_here
from tests.rigs.repository import ROOT
from tidelog import Admin, Queue
from tidelog.testing import Broker

COMMANDS = console_commands(ROOT / "docs" / "queues.md")
FIRST_JOB = "tidelog produce jobs 'resize cat.png'"


def work(address: str, group_id: str) -> None:
    """What the page's worker does, so that there is a group to look at."""
    with Queue("jobs", address, group_id=group_id) as jobs:
        for job in jobs.take(timeout_ms=20_000, limit=1):
            job.done()


def test_the_commands_run(
    tidelog_broker: Broker, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tidelog_broker.bootstrap_servers
    monkeypatch.setenv("TIDELOG_BOOTSTRAP_SERVERS", address)
    with Admin({"bootstrap.servers": address}) as admin:
        admin.create_topic("jobs-again")
    assert FIRST_JOB in COMMANDS
    assert len(COMMANDS) > 20
    for command in COMMANDS:
        done = run_here(capsys, monkeypatch, shlex.split(command)[1:], b"", None)
        assert done.code == 0, f"{command}: {done.out}{done.err}"
        if command == FIRST_JOB:
            work(address, "jobs")
            work(address, "workers")
