"""`tidelog up --brokers N`: the supervisor of a cluster's processes on one machine.

It starts them together, says once that all answer, starts again what ended by itself, and stops them one
after the other, so that each can hand its partitions over. It serves no client itself.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tidelog.cli.cluster.quorum import look_at_quorum
from tidelog.cli.cluster.view import look_at_brokers
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet import events
from tidelog.cli.fleet.events import exit_text
from tidelog.cli.fleet.member import Member, command_of
from tidelog.cli.fleet.plan import FleetPlan, MemberPlan, stop_order, stop_turns
from tidelog.cli.fleet.ports import refuse_taken_ports
from tidelog.cli.fleet.record import write_record
from tidelog.cli.fleet.restarts import Backoff
from tidelog.cli.fleet.secured import prepare_security
from tidelog.cli.fleet.voice import Voice, ready_facts
from tidelog.cli.session import Session
from tidelog.cli.stop_signals import StopSignal, StopSignals
from tidelog.cli.up.ready_file import remove_ready_file, write_ready_file
from tidelog.cli.up.running import age_s, show_demo
from tidelog.storage.log_dir.files import META

START_PATIENCE_S = 120.0
LOOK_EVERY_S = 0.05
LOOK_TIMEOUT_S = 2.0
STOP_DEADLINE_S = 90.0
STOP_MARGIN_S = 5.0


class Fleet:
    def __init__(
        self,
        plan: FleetPlan,
        *,
        as_json: bool,
        ready_file: str | None,
        restart: bool,
        demo: bool = False,
        demo_pipeline: bool = False,
    ) -> None:
        self.plan = plan
        self.ready_file = ready_file
        self.demo = demo or demo_pipeline
        self.demo_pipeline = demo_pipeline
        self.restart = restart
        self.voice = Voice(plan, as_json)
        self._members: dict[int, Member] = {}
        self._stop = asyncio.Event()
        self._failed: CliError | None = None
        self._signals = StopSignals()
        self._is_ready = False
        self._own_sessions = True
        """Those of a machine of a cluster are in its session."""
        self._retired: set[int] = set()
        """Brokers that were stopped for good while the others run."""

    def run(self) -> int:
        with _sole_owner(self.plan.data):
            refuse_taken_ports(self.plan)
            write_record(self.plan.data, replace(self.plan.recorded, cores=self.plan.cores_before))
            prepare_security(self.plan)
            return asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(signal.SIGHUP, self._on_signal)
        self.voice.starting()
        keepers = [asyncio.create_task(self._keep(member)) for member in self.plan.members]
        try:
            if await self._until_all_answer():
                await self._confirm_admin()
                self._remember_cores()
                self._announce()
                await self._serve()
        finally:
            self._stop.set()
            await self._stop_all()
            await asyncio.gather(*keepers)
        if self._failed is not None:
            raise self._failed
        return Exit.OK

    def _remember_cores(self) -> None:
        """Only now: a number that cannot start must not come back with a start that does not name it."""
        if self.plan.cores != self.plan.cores_before:
            write_record(self.plan.data, self.plan.recorded)

    async def _confirm_admin(self) -> None:
        if (security := self.plan.security) is not None:
            await asyncio.to_thread(
                security.confirm_admin,
                self.plan.bootstrap_servers,
                self.plan.broker_addresses,
                START_PATIENCE_S,
            )

    async def _serve(self) -> None:
        security = self.plan.security
        if self.demo:
            await show_demo(
                self.plan.bootstrap_servers,
                self._stop,
                pipeline=self.demo_pipeline,
                context=security.context if security is not None else None,
            )
        else:
            await self._stop.wait()

    async def _keep(self, plan: MemberPlan) -> None:
        """One broker for as long as the cluster runs: started, and started again."""
        backoff = Backoff()
        has_served = False
        while not self._stop.is_set() and plan.id not in self._retired:
            member = Member(
                plan,
                lambda line: self.voice.log.write(plan.id, line),
                lambda event: self._on_event(plan, event),
                own_session=self._own_sessions,
            )
            self._members[plan.id] = member
            began = time.monotonic()
            if (refused := await self._refused(member, has_served=has_served)) is not None:
                if not has_served:
                    self._give_up(member, refused)
                    return
                wait_s = backoff.after(0)
                self.voice.happened(plan, events.not_started(plan, refused, wait_s))
                await self._sleep_unless_stopped(asyncio.sleep(wait_s))
                continue
            if self._stop.is_set():  # asked to stop before there was a process to tell
                member.signal(signal.SIGTERM)
                await self._stop_one(member, self._patience_s)
                return
            if self._is_ready or has_served:
                await self._tell_when_back(member)
            code = await member.ended()
            if self._stop.is_set() or plan.id in self._retired:
                return
            has_served |= self._is_ready or member.ready.is_set()
            if not (self._is_ready or (has_served and self.restart)):
                self._give_up(member, exit_text(code))
                return
            restart_in_s = backoff.after(time.monotonic() - began) if self.restart else None
            self.voice.happened(plan, events.ended(plan, code, member.last_lines, restart_in_s))
            if restart_in_s is None:
                return
            await self._sleep_unless_stopped(asyncio.sleep(restart_in_s))

    async def _refused(self, member: Member, *, has_served: bool) -> str | None:
        """Starts its process; returns why there is none: no memory, no process id or descriptor to be had, or
        an interpreter that an upgrade replaces at this moment. Or its disk is no longer mounted: it would
        begin anew without a record, and where it has the only vote, as another cluster."""
        meta = os.path.join(member.plan.log_dir, META)
        if has_served and not await asyncio.to_thread(os.path.exists, meta):
            return f"{meta} is gone. Mount its disk again; or stop all, and start with an empty directory"
        try:
            await member.start(command_of(self.plan, member.plan, restart=self.restart))
        except OSError as error:
            return f"the system starts no process: {error}"
        return None

    async def _tell_when_back(self, member: Member) -> None:
        ended = asyncio.ensure_future(member.ended())
        ready = asyncio.ensure_future(member.ready.wait())
        await asyncio.wait({ended, ready}, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if member.ready.is_set():
            self.voice.happened(member.plan, events.restarted(member.plan, member.pid))
            if self._is_ready:
                self._rewrite_ready_file()

    def _on_event(self, machine: MemberPlan, event: Mapping[str, Any]) -> None:
        """Something happened to a core, whose machine sees to it."""
        self.voice.relay(machine, event)
        if self._is_ready:
            self._rewrite_ready_file()

    async def _sleep_unless_stopped(self, sleep: Coroutine[Any, Any, None]) -> None:
        sleeping, stopped = asyncio.ensure_future(sleep), asyncio.ensure_future(self._stop.wait())
        await asyncio.wait({sleeping, stopped}, return_when=asyncio.FIRST_COMPLETED)
        sleeping.cancel()
        stopped.cancel()

    def _give_up(self, member: Member, end: str) -> None:
        """A broker that never began: the others cannot make up for settings or a directory that are wrong."""
        if self._failed is None:
            said = member.refusal or {}
            reason = said.get("message") or "\n    ".join([end, *member.last_lines])
            self._failed = CliError(
                f"{member.plan.name} did not start: {reason}",
                cause=said.get("cause"),
                attempt=said.get("try"),
            )
        self._stop.set()

    async def _until_all_answer(self) -> bool:
        """Listening is not enough: clients need a controller and brokers that it takes for alive."""
        deadline = time.monotonic() + START_PATIENCE_S
        missing = [member.id for member in self.plan.members]
        while not self._stop.is_set():
            missing = await self._missing()
            if not missing:
                return True
            if time.monotonic() > deadline:
                self._failed = CliError(
                    f"Not all brokers answered within {START_PATIENCE_S:.0f} s; "
                    f"missing: {', '.join(map(str, missing))}.",
                    cause="the log above shows what they wait for.",
                )
                return False
            await asyncio.sleep(LOOK_EVERY_S)
        return False

    async def _missing(self) -> list[int]:
        silent = [
            plan.id
            for plan in self.plan.members
            if plan.id not in self._members or not self._members[plan.id].is_serving
        ]
        if silent:
            return silent
        try:
            alive = await asyncio.to_thread(self._alive)
        except CliError:
            alive = set()
        return [plan.id for plan in self.plan.members if plan.id not in alive]

    def _alive(self) -> set[int]:
        with self._session() as session:
            view = look_at_brokers(DirectCluster(session))
        return {broker.id for broker in view.alive} if view.controller is not None else set()

    def _quorum(self) -> tuple[set[int], int | None]:
        """Returns the voters, which may have changed since the cluster began, and their leader."""
        with self._session() as session, contextlib.suppress(CliError):
            quorum = look_at_quorum(DirectCluster(session))
            return {member.id for member in quorum.voters}, quorum.leader
        return set(self.plan.recorded.voters), None

    def _session(self) -> contextlib.closing[Session]:
        properties = self.plan.security.admin_properties() if self.plan.security else None
        return contextlib.closing(
            Session(servers=self.plan.broker_addresses, timeout_s=LOOK_TIMEOUT_S, properties=properties)
        )

    def _announce(self) -> None:
        self._is_ready = True
        self._write_ready_file()
        self.voice.ready(self._facts(), age_s())

    def _facts(self) -> dict[str, Any]:
        pids = {id: member.pid for id, member in self._members.items()}
        cores = {id: member.facts.get("brokers") for id, member in self._members.items() if member.facts}
        serving = tuple(member for member in self.plan.members if member.id not in self._retired)
        return ready_facts(replace(self.plan, members=serving), pids, cores)

    def _write_ready_file(self) -> None:
        if self.ready_file is not None and not self._stop.is_set():
            write_ready_file(self.ready_file, self._facts())

    def _rewrite_ready_file(self) -> None:
        """What it says is no longer so. A full disk must not end the supervisor, which the brokers need."""
        try:
            self._write_ready_file()
        except CliError as error:
            self.voice.happened(self.plan.members[0], {"event": "ready_file", "message": error.message})

    async def _stop_all(self) -> None:
        began = time.monotonic()
        if self.ready_file is not None:
            remove_ready_file(self.ready_file)
        voters, controller = await asyncio.to_thread(self._quorum) if self._is_ready else (set[int](), None)
        turns = self._stop_turns(stop_order(self._members, voters, controller), voters)
        clean = True
        if not self._is_ready:  # there is nothing to hand over yet, and some wait for the others
            for member in self._members.values():
                member.signal(signal.SIGTERM)
        for turn in turns:
            patience_s = max(0.0, min(self._patience_s, began + STOP_DEADLINE_S - time.monotonic()))
            clean &= all(
                await asyncio.gather(*(self._stop_one(self._members[id], patience_s) for id in turn))
            )
        if self._is_ready:
            self.voice.stopped(time.monotonic() - began, clean)

    def _stop_turns(self, order: Sequence[int], voters: set[int]) -> list[Sequence[int]]:
        """Which members stop together."""
        return stop_turns(order, voters, max(member.cores for member in self.plan.members))

    @property
    def _patience_s(self) -> float:
        """What a broker may take by its own settings, and a little more; the cores of a machine stop in two
        turns."""
        config = self.plan.config
        waits = config.int("shutdown.grace.ms") + config.int("controlled.shutdown.timeout.ms")
        turns = 2 if any(member.cores > 1 for member in self.plan.members) else 1
        return turns * (waits / 1000 + STOP_MARGIN_S)

    async def _stop_one(self, member: Member, patience_s: float) -> bool:
        """Returns whether the broker ended cleanly: not if it was killed meanwhile, or died long ago."""
        if not member.was_started:
            return True
        if self._is_ready:
            member.signal(signal.SIGTERM)
        try:
            return await asyncio.wait_for(member.ended(), patience_s) == Exit.OK and member.stopped_cleanly
        except TimeoutError:
            member.kill()
            await member.ended()
            self.voice.happened(member.plan, events.killed(member.plan, patience_s))
            return False

    def _on_signal(self) -> None:
        match self._signals.receive(time.monotonic()):
            case StopSignal.FIRST:
                self._stop.set()
                self.voice.stopping()
            case StopSignal.SECOND:
                for member in self._members.values():
                    member.kill()


@contextlib.contextmanager
def _sole_owner(directory: str) -> Iterator[None]:
    """One supervisor a directory: a second one would only see that every port is taken, and not why."""
    try:
        os.makedirs(directory, exist_ok=True)
        handle = os.open(
            os.path.join(directory, "cluster.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
    except OSError as error:
        raise CliError(
            f"Cannot use {directory}: {error.strerror}.",
            cause="it cannot be written, or is no directory.",
            attempt="tidelog up --brokers N --data DIR",
        ) from error
    try:
        _lock(handle, directory)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, directory: str) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise CliError(
            f"The cluster in {directory} runs already.",
            cause="another `tidelog up` with this directory is not stopped yet.",
            attempt="stop it, or use another directory with --data",
        ) from error
