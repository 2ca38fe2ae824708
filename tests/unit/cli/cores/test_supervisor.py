"""Cores that leave: when they are stopped, and what stays of them."""

import asyncio
import gc
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from tidelog.base.config.config import load
from tidelog.cli.cores import supervisor
from tidelog.cli.cores.plan import plan_cores
from tidelog.cli.cores.supervisor import CoreFleet
from tidelog.cli.exits import CliError
from tidelog.cli.fleet.plan import MemberPlan
from tidelog.cli.fleet.supervisor import Fleet
from tidelog.cli.log.core_dirs import core_log_dir, known_cores


class Process:
    """A core's, which ends at SIGTERM or, where it hangs, only at SIGKILL."""

    was_started = is_running = stopped_cleanly = True
    beats, pid = 0, 7

    @property
    def is_serving(self) -> bool:
        return self.ready.is_set() and self.is_running

    def __init__(self, plan: MemberPlan, *, hangs: bool = False) -> None:
        self.plan, self.id = plan, plan.id
        self.got: list[int] = []
        self.facts: dict[str, Any] = {}
        self._ends_at = signal.SIGKILL if hangs else signal.SIGTERM
        self._ended = asyncio.Event()
        self.ready = asyncio.Event()

    def signal(self, number: signal.Signals) -> None:
        self.got.append(number)
        if number == self._ends_at:
            self._ended.set()

    def kill(self) -> None:
        self.signal(signal.SIGKILL)

    async def ended(self) -> int:
        await self._ended.wait()
        return 0 if self._ends_at == signal.SIGTERM else -9


class Machine(CoreFleet):
    """One core stays of three; their log dirs are real."""

    def __init__(self, log_dir: str, count: int = 1) -> None:
        flags = {"node.id": "1", "log.dirs": log_dir, "listeners": "PLAINTEXT://h:9092"}
        for core in (1, 2):
            os.makedirs(core_log_dir(log_dir, core))
        plan = plan_cores(load(None, {}, flags), None, flags, count, 3)
        super().__init__(plan, as_json=True, ready_file=None)
        self._is_ready = True
        self.forgets = True
        self.processes: dict[int, Any] = {member.id: Process(member) for member in self.plan.members}
        self._members = self.processes

    @property
    def _patience_s(self) -> float:
        return 0.01

    def _is_forgotten(self, id: int) -> bool:
        return self.forgets

    def stop(self) -> None:
        self._stop.set()

    def retire(self) -> None:
        asyncio.run(self._retire())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(str(tmp_path))


def test_empty_cores_are_stopped_and_their_log_dirs_removed(machine: Machine, tmp_path: Path) -> None:
    machine.retire()
    assert known_cores([str(tmp_path)]) == 1
    assert [machine.processes[id].got for id in (1, 1001, 2001)] == [[], [signal.SIGTERM], [signal.SIGTERM]]


def test_the_ready_file_does_not_name_cores_that_have_left(machine: Machine, tmp_path: Path) -> None:
    """Their process ids may be those of other programs by then."""
    machine.ready_file = str(tmp_path / "ready.json")
    machine.retire()
    assert [core["node_id"] for core in json.loads(Path(machine.ready_file).read_text())["brokers"]] == [1]


def test_a_core_that_does_not_stop_is_killed(machine: Machine) -> None:
    machine.processes[2001] = Process(machine.plan.members[2], hangs=True)
    machine.retire()
    assert machine.processes[2001].got == [signal.SIGTERM, signal.SIGKILL]


def test_a_core_that_the_cluster_still_knows_keeps_its_log_dirs(machine: Machine, tmp_path: Path) -> None:
    machine.forgets = False
    machine.retire()
    assert known_cores([str(tmp_path)]) == 3


def test_a_stop_is_not_kept_waiting_by_cores_that_leave(machine: Machine, tmp_path: Path) -> None:
    machine.stop()
    machine.retire()
    assert machine.processes[2001].got == []
    assert known_cores([str(tmp_path)]) == 3


def test_moves_that_a_stop_ends_say_nothing(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The brokers that the moves ask are stopped under them."""
    began, stopped = threading.Event(), threading.Event()

    def unreachable(*_: Any) -> None:
        began.set()
        stopped.wait(10)
        raise CliError("No broker answers.")

    monkeypatch.setattr(supervisor, "reopen_cores", unreachable)

    async def serve() -> list[Any]:
        said: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        serving = asyncio.create_task(machine._serve())
        await asyncio.to_thread(began.wait, 10)
        machine.stop()
        await serving
        stopped.set()
        for thread in threading.enumerate():
            if thread.name == "moves":
                await asyncio.to_thread(thread.join)
        await asyncio.sleep(0)
        gc.collect()
        return said

    assert asyncio.run(serve()) == []
    assert capsys.readouterr().out == ""


def test_a_core_that_hangs_is_killed_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_S", 0.0)
    hangs, beats, is_gone = (machine.processes[id] for id in (1, 1001, 2001))
    hangs.ready.set()
    is_gone.ready.set()
    is_gone.is_running = False
    beats.ready.set()

    async def watch() -> None:
        watching = asyncio.create_task(machine._watch())
        while not hangs.got:
            beats.beats += 1
            await asyncio.sleep(0)
        machine.stop()
        await watching

    asyncio.run(watch())
    assert hangs.got[0] == signal.SIGKILL
    assert beats.got == is_gone.got == []
    assert '"event": "broker_hangs", "broker": 1' in capsys.readouterr().out


def test_a_core_that_hangs_is_killed_while_others_still_begin(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "WATCH_S", 0.0)
    machine._is_ready = False
    hangs = machine.processes[1]
    hangs.ready.set()
    hangs.signal = lambda number: (hangs.got.append(number), hangs._ended.set())

    async def keep(_: MemberPlan) -> None:
        """They run already."""

    async def until_it_is_killed() -> bool:
        await hangs.ended()
        return False

    monkeypatch.setattr(machine, "_keep", keep)
    monkeypatch.setattr(machine, "_until_all_answer", until_it_is_killed)
    asyncio.run(asyncio.wait_for(machine._until_stopped(), 10))
    assert hangs.got[0] == signal.SIGKILL


def test_a_machine_is_not_ready_while_a_core_that_served_is_down(machine: Machine) -> None:
    first, second, third = machine.processes.values()
    first.facts = {"machine": machine.cores.machine}
    for process in (first, second, third):
        process.ready.set()
    second.is_running = False

    async def start() -> bool:
        machine._may_follow.set()
        starting = asyncio.create_task(machine._until_all_answer())
        await asyncio.sleep(3 * supervisor.LOOK_S)
        assert not starting.done()
        second.is_running = True
        return await starting

    assert asyncio.run(start())


def test_only_new_cores_wait_for_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another has the machine's vote, the first waits for it."""
    machine = Machine(str(tmp_path), count=4)
    began: list[int] = []

    async def keep(_: CoreFleet, plan: MemberPlan) -> None:
        began.append(plan.id)

    monkeypatch.setattr(Fleet, "_keep", keep)

    async def start() -> None:
        starting = [asyncio.create_task(machine._keep(member)) for member in machine.plan.members]
        await asyncio.wait(starting[:3])
        assert began == [1, 1001, 2001]
        machine._may_follow.set()
        await asyncio.wait(starting)

    asyncio.run(start())
    assert began == [1, 1001, 2001, 3001]


def test_all_cores_but_the_first_stop_at_once(machine: Machine) -> None:
    """No partition has two replicas on the machine, so none of them has to take over from another."""
    first = machine.processes[1]

    def stop_first(number: signal.Signals) -> None:
        assert all(machine.processes[id].got for id in (1001, 2001)), "they need the controller"
        first.got.append(number)
        first._ended.set()

    others = [machine.processes[id] for id in (1001, 2001)]
    for process in others:
        process.signal = lambda number, process=process: stop_both(process, number)

    def stop_both(process: Any, number: signal.Signals) -> None:
        process.got.append(number)
        if all(other.got for other in others):
            for other in others:
                other._ended.set()

    first.signal = stop_first
    asyncio.run(machine._stop_all())
    assert [process.got for process in machine.processes.values()] == [[signal.SIGTERM]] * 3


def test_cores_that_cannot_be_emptied_go_on_serving(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is tried again, and done once it can be."""
    gone = asyncio.Event()
    tries = iter([CliError("No leader.", cause="it is down.", attempt="a look"), None])

    def empty(*_: Any) -> None:
        if (error := next(tries)) is not None:
            raise error

    async def serve() -> None:
        serving = asyncio.create_task(machine._serve())
        await asyncio.wait_for(gone.wait(), 10)
        assert not serving.done()
        machine.stop()
        await serving

    def left(broker: int, text: str) -> None:
        tell(broker, text)
        if text.startswith("Broker 1001 is drained"):
            gone.set()

    tell = machine.cores_voice.left
    monkeypatch.setattr(machine.cores_voice, "left", left)
    monkeypatch.setattr(supervisor, "reopen_cores", lambda *_: False)
    monkeypatch.setattr(supervisor, "empty_cores", empty)
    monkeypatch.setattr(supervisor, "FIRST_RETRY_S", 0.0)
    asyncio.run(serve())
    said = capsys.readouterr().out
    assert "serve them: 1001 and 2001. No leader. Cause: it is down. Next try in 0 s" in said
    assert "Broker 2001 is drained and gone." in said
