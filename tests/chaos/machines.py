"""Machines with a broker for each core: one process to start and to stop, and several that can die."""

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.chaos.nemesis import Fault, Nemesis
from tests.chaos.peer_links import free_ports
from tests.chaos.process_cluster import Member, ProcessCluster
from tests.chaos.victim import wait_until
from tidelog.cli.fleet.core_numbers import ID_STEP
from tidelog.cli.log.core_dirs import core_log_dir

CORES = 2
FEWER_THREADS = {"background.threads": 4}


class Machine(Member):
    """The process that is started is the supervisor; killing it as a `Member` kills its cores as well."""

    def __init__(
        self, directory: Path, node_id: int, ports: tuple[int, int], settings: Mapping[str, object]
    ) -> None:
        super().__init__(directory, node_id, ports, {**settings, "broker.cores": CORES})
        self.links_port = self.peer_port

    @property
    def client_ports(self) -> dict[int, int]:
        return {self.node_id + ID_STEP * core: self._port + core for core in range(CORES)}

    def replica_directory(self, partition: str) -> Path:
        log_dirs = [Path(core_log_dir(str(self.data), core)) for core in range(CORES)]
        held = [log_dir for log_dir in log_dirs if (log_dir / partition).is_dir()]
        assert len(held) == 1, f"machine {self.node_id} has {len(held)} replicas of {partition}"
        return held[0]

    def until_ready(self, patience_s: float = 60.0) -> None:
        wait_until(self._is_ready, lambda: f"all cores answer:\n{self.log_tail()}", patience_s)

    def kill(self) -> None:
        """As a power failure: the supervisor and every core at once."""
        if self._process is None:
            return
        cores: list[int] = []
        if self.is_running:
            os.kill(self.pid, signal.SIGSTOP)  # it starts nothing while its cores are looked for
            cores = [pid for pid, _ in children_of(self.pid)]
            for pid in cores:
                _kill(pid)
        super().kill()
        wait_until(lambda: not any(map(is_alive, cores)), f"{cores} are gone")

    def kill_core(self, broker: int) -> None:
        """Only this one; the supervisor starts it again."""
        if self.is_running:
            for pid, command in children_of(self.pid):
                if f"--set=node.id={broker}" in command:
                    _kill(pid)

    def kill_supervisor(self) -> None:
        """Its cores notice, stop by themselves and hand over what they lead."""
        if self._process is not None:
            cores = [pid for pid, _ in children_of(self.pid)] if self.is_running else []
            super().kill()
            wait_until(lambda: not any(map(is_alive, cores)), f"{cores} stop by themselves")


class MachineCluster(ProcessCluster):
    """Brokers reach each other directly, so links cannot be cut."""

    def __init__(self, directory: Path, settings: Mapping[str, object] | None = None) -> None:
        super().__init__(directory, settings={**FEWER_THREADS, **(settings or {})})

    def _add(self, node_id: int, ports: tuple[int, int]) -> Member:
        first, second = free_ports(2, in_a_row=CORES)
        machine = Machine(self._directory / f"machine-{node_id}", node_id, (first, second), self.settings)
        self.members[node_id] = machine
        return machine


class MachineNemesis(Nemesis):
    @staticmethod
    def kinds() -> list[str]:
        return ["kill_one", "kill_leader", "kill_two", "kill_all", "restart_storm", "stop_in_order"] + [
            name.removeprefix("do_") for name in vars(MachineNemesis) if name.startswith("do_")
        ]

    def _machines(self) -> list[Machine]:
        return [machine for machine in self._shuffled() if isinstance(machine, Machine)]

    def do_kill_core_of_leader(self) -> Fault:
        leader = self._cluster.leader(self._cluster.topic)
        machine = self._cluster.holder(leader)
        assert isinstance(machine, Machine)
        machine.kill_core(leader)
        yield self._some_time()

    def do_kill_core_of_each(self) -> Fault:
        """The first one, which votes, or another; every partition may lose all of its replicas but one."""
        for machine in self._machines():
            machine.kill_core(self._chance.choice(list(machine.client_ports)))
            yield self._chance.uniform(0.0, 1.0)

    def do_kill_first_cores(self) -> Fault:
        """All votes at once."""
        for machine in self._machines():
            machine.kill_core(machine.node_id)
        yield self._some_time()

    def do_kill_supervisor(self) -> Fault:
        self._machines()[0].kill_supervisor()
        yield self._some_time()


def children_of(parent: int) -> Iterator[tuple[int, list[str]]]:
    """Process ids and commands."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name in parentheses may hold anything; the state and the parent follow it.
            state, ppid, *_ = (path / "stat").read_text().rpartition(")")[2].split()
            if int(ppid) == parent and state != "Z":
                yield int(path.name), (path / "cmdline").read_text().split("\0")


def is_alive(pid: int) -> bool:
    """Also a process that is dead but for a thread: one that waits for the disk keeps the ports taken."""
    process = Path(f"/proc/{pid}")
    try:
        is_dead = (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return not is_dead or len(list((process / "task").iterdir())) > 1
    except OSError:
        return False


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
