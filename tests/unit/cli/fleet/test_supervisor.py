"""A broker is started again, whatever became of it; one that never served ends the start."""

import asyncio
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tidelog.cli.exits import CliError
from tidelog.cli.fleet import supervisor
from tidelog.cli.fleet.plan import FleetPlan, MemberPlan, plan_fleet
from tidelog.cli.fleet.supervisor import Fleet
from tidelog.storage.log_dir.files import META

NO_PROCESS = OSError(errno.EAGAIN, "Resource temporarily unavailable")
NEVER_READY, SERVES, GOES_ON = "ends before it serves", "serves and ends", "serves and goes on"


class Broker:
    """A process that is never started: each has the next fate of the list."""

    def __init__(self, fates: Iterator[str | OSError], plan: MemberPlan, *_: Any, own_session: bool) -> None:
        self.plan, self.pid, self.refusal = plan, 7, None
        self.last_lines: list[str] = []
        self.ready = asyncio.Event()
        self.was_started = False
        self._fates = fates

    async def start(self, _: object) -> None:
        fate = next(self._fates)
        if isinstance(fate, OSError):
            raise fate
        self.was_started = True
        self._fate = fate
        if fate != NEVER_READY:
            self.ready.set()

    async def ended(self) -> int:
        await asyncio.sleep(0)
        if self._fate == GOES_ON:
            await asyncio.Event().wait()
        return -9


class NoWait:
    def after(self, _: float) -> float:
        return 0.0


@pytest.fixture
def plan(tmp_path: Path) -> FleetPlan:
    given = {"metrics.port": "9404", "schema.registry.port": "8081"}
    planned = plan_fleet(None, 3, str(tmp_path), None, None, given)
    for member in planned.members:
        os.makedirs(member.log_dir)
        Path(member.log_dir, META).touch()
    return planned


def outcome(
    fates: list[str | OSError],
    plan: FleetPlan,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_ready: bool,
    restart: bool = True,
) -> tuple[bool, CliError | None]:
    """Whether the last fate was reached and the broker goes on, and why the start failed."""
    left = iter(fates)

    async def at_once(work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments)

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    monkeypatch.setattr(supervisor, "Member", lambda *args, **options: Broker(left, *args, **options))
    monkeypatch.setattr(supervisor, "Backoff", NoWait)

    async def keep() -> tuple[bool, CliError | None]:
        fleet = Fleet(plan, as_json=True, ready_file=None, restart=restart)
        fleet._is_ready = is_ready
        keeping = asyncio.create_task(fleet._keep(plan.members[0]))
        for _ in range(100):
            await asyncio.sleep(0)
        goes_on = not keeping.done() and not list(left)
        keeping.cancel()
        await asyncio.wait([keeping])
        if not keeping.cancelled():
            keeping.result()
        return goes_on, fleet._failed

    return asyncio.run(keep())


def test_a_broker_is_started_until_the_system_has_a_process_for_it(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fates = [SERVES, NO_PROCESS, NO_PROCESS, GOES_ON]
    assert outcome(fates, plan, monkeypatch, is_ready=True) == (True, None)
    said = capsys.readouterr().out
    assert said.count('"event": "broker_not_started", "broker": 1') == 2
    assert "Resource temporarily unavailable" in said
    assert '"event": "broker_restarted"' in said


def test_a_broker_whose_disk_is_gone_does_not_begin_anew_on_another(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = Path(plan.members[0].log_dir, META)
    meta.unlink()
    assert outcome([SERVES, GOES_ON], plan, monkeypatch, is_ready=True) == (False, None)
    assert f"node-1/{META} is gone. Mount its disk again" in capsys.readouterr().out
    meta.touch()
    assert outcome([SERVES, GOES_ON], plan, monkeypatch, is_ready=True) == (True, None)


def test_a_broker_that_the_system_never_started_ends_the_start(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, failed = outcome([NO_PROCESS], plan, monkeypatch, is_ready=False)
    assert not goes_on
    assert failed is not None
    assert "Broker 1 did not start: the system starts no process" in failed.message


def test_a_broker_that_served_is_started_again_while_others_still_begin(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recovery of another may take long, and would begin anew with the whole start."""
    assert outcome([SERVES, NEVER_READY, GOES_ON], plan, monkeypatch, is_ready=False) == (True, None)


@pytest.mark.parametrize(("fate", "restart"), [(NEVER_READY, True), (NEVER_READY, False), (SERVES, False)])
def test_a_broker_that_ends_ends_the_start(
    fate: str, restart: bool, plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, failed = outcome([fate], plan, monkeypatch, is_ready=False, restart=restart)
    assert not goes_on
    assert failed is not None
    assert failed.message == "Broker 1 did not start: killed by SIGKILL"


def test_a_broker_that_ends_without_restarts_leaves_the_others_alone(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert outcome([SERVES], plan, monkeypatch, is_ready=True, restart=False) == (False, None)
