"""`--cores N`: starts a machine's brokers, restarts a core that dies alone, and stops all of them as one.

A core that is new follows the first: the machine must be known to the cluster before a second broker is
there, or replicas of a partition could share it. Those that were here before start beside the first, which
may need them: the vote of the machine can have been moved to one. Cores that an earlier start had, and this
one has not, are emptied.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import TidelogError
from tidelog.cli.cluster.view import look_at_brokers
from tidelog.cli.cores.leftovers import remove_log_dirs
from tidelog.cli.cores.moves import empty_cores, fill_new_cores, reopen_cores
from tidelog.cli.cores.plan import CoresPlan
from tidelog.cli.cores.spread_mark import SpreadMark
from tidelog.cli.cores.stall import MISSED_MAX, WATCH_S, Stall
from tidelog.cli.cores.strangers import new_cores, stranger
from tidelog.cli.cores.taken_ports import refuse_taken_ports
from tidelog.cli.cores.turns import Turns
from tidelog.cli.cores.voice import CoresVoice, why_unchanged
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet import events
from tidelog.cli.fleet.member import Member
from tidelog.cli.fleet.plan import MemberPlan
from tidelog.cli.fleet.supervisor import Fleet
from tidelog.cli.session import Session
from tidelog.cli.up.broker_login import properties_for_brokers

if TYPE_CHECKING:
    from tidelog.server.service_manager import ServiceManager

MOVE_TIMEOUT_S = 30.0
GONE_PATIENCE_S = 15.0
LOOK_S = 0.05
FIRST_RETRY_S, LONGEST_RETRY_S = 30.0, 600.0


class CoreFleet(Fleet):
    def __init__(
        self,
        plan: CoresPlan,
        *,
        as_json: bool,
        ready_file: str | None,
        restart: bool = True,
        demo: bool = False,
        demo_pipeline: bool = False,
        until_stdin_closes: bool = False,
        fleet: str | None = None,
    ) -> None:
        """`fleet` is the directory of the cluster on this computer of which this is one machine."""
        super().__init__(
            plan,
            as_json=as_json,
            ready_file=ready_file,
            restart=restart,
            demo=demo,
            demo_pipeline=demo_pipeline,
        )
        self.cores = plan
        self.cores_voice = CoresVoice(plan, as_json)
        self.voice = self.cores_voice
        self._until_stdin_closes = until_stdin_closes
        self._own_sessions = fleet is None
        self._turns = Turns(fleet)
        self._new = new_cores([member.id for member in plan.members], plan.config.list("log.dirs"))
        self._may_follow = asyncio.Event()
        """The new ones."""
        self._manager: ServiceManager | None = None

    def run(self) -> int:
        refuse_taken_ports(self.cores)
        if self.plan.security is not None:
            self.plan.security.write_client_files(self.plan.bootstrap_servers)
        return asyncio.run(self._until_stopped())

    async def _until_stopped(self) -> int:
        if self._until_stdin_closes:
            asyncio.get_running_loop().add_reader(0, self._on_stdin)
        if "NOTIFY_SOCKET" in os.environ:
            from tidelog.server.service_manager import ServiceManager

            self._manager = ServiceManager.of_environment(os.environ)
        if self._manager is not None:
            self._manager.starting()
        watching = asyncio.create_task(self._watch(), name="stalls")
        try:
            return await super()._until_stopped()
        finally:
            self._stop.set()
            await watching

    async def _keep(self, plan: MemberPlan) -> None:
        if plan.id in self._new:
            await self._sleep_unless_stopped(_until_set(self._may_follow))
        await super()._keep(plan)

    async def _until_all_answer(self) -> bool:
        """However long it takes: a cluster begins when a majority of its machines is there."""
        while not self._stop.is_set():
            first = self._members.get(self.plan.members[0].id)
            if first is not None and first.ready.is_set() and not self._may_follow.is_set():
                if first.facts.get("machine") != self.cores.machine and len(self.plan.members) > 1:
                    self._failed = _no_machines()
                    return False
                self._failed = await asyncio.to_thread(self._stranger)
                if self._failed is not None:
                    return False
                self._may_follow.set()
            started = list(self._members.values())
            if len(started) == len(self.plan.members) and all(one.is_serving for one in started):
                return True
            await asyncio.sleep(LOOK_S)
        return False

    def _stranger(self) -> CliError | None:
        """Whether a core would take the place of another broker. The first core knows the cluster's; where
        it cannot be asked, the moves of replicas will say why."""
        deadline = time.monotonic() + GONE_PATIENCE_S
        while self._new and time.monotonic() < deadline and not self._stop.is_set():
            with suppress(CliError, TidelogError), self._session() as session:
                known = look_at_brokers(DirectCluster(session)).brokers
                return stranger(self._new, known, self.cores.machine)
            time.sleep(LOOK_S)
        return None

    def _remember_cores(self) -> None:
        """The settings say them, or the supervisor of the cluster remembers them."""

    def _announce(self) -> None:
        super()._announce()
        if self._manager is not None:
            self._manager.ready(self.plan.bootstrap_servers)

    async def _serve(self) -> None:
        changing = asyncio.create_task(self._change_cores(), name="cores")
        try:
            await super()._serve()
        finally:
            self._stop.set()
            await changing

    async def _watch(self) -> None:
        """Kills a core that hangs, so that it is restarted as one that died."""
        stalls: dict[Member, Stall] = {}
        while not self._stop.is_set():
            await self._sleep_unless_stopped(asyncio.sleep(WATCH_S))
            stalls = {
                member: stalls.get(member, Stall())
                for member in self._members.values()
                if member.is_serving and member.id not in self._retired
            }
            for member, stall in stalls.items():
                if stall.look(member.beats) and not self._stop.is_set():
                    self.voice.happened(member.plan, events.hangs(member.plan, MISSED_MAX * WATCH_S))
                    member.kill()

    async def _change_cores(self) -> None:
        """Until each core holds what it shall hold. While replicas cannot move, all cores go on serving."""
        wait_s = FIRST_RETRY_S
        while not self._stop.is_set():
            moved = in_daemon_thread(self._move_replicas)
            stopped = asyncio.ensure_future(self._stop.wait())
            waited: set[asyncio.Future[Any]] = {moved, stopped}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            if not moved.done():
                moved.cancel()  # what began to move goes on, and the next start with the rest
                return
            error = moved.exception()
            if error is None:
                await self._retire()
                return
            if self._stop.is_set():
                return  # the brokers stop, so they do not answer
            self.cores_voice.moved(why_unchanged(error, self.cores.leaving, wait_s))
            await self._sleep_unless_stopped(asyncio.sleep(wait_s))
            wait_s = min(LONGEST_RETRY_S, wait_s * 2)

    def _move_replicas(self) -> None:
        """In a thread of its own."""
        cores, leaving = [member.id for member in self.plan.members], self.cores.leaving
        if len(cores) == 1:
            return
        rate = self.plan.config.int("broker.cores.copy.bytes.per.second")
        mark = SpreadMark(self.plan.config.list("log.dirs"))
        with self._turns.wait(), self._session() as session:
            direct = DirectCluster(session)
            if reopen_cores(direct, cores[: self.cores.count]):
                mark.set()
            if leaving:
                mark.clear()
                empty_cores(direct, cores, leaving, rate, self.cores_voice.moved)
            else:
                fill_new_cores(direct, cores, rate, self.cores_voice.moved, mark)

    async def _retire(self) -> None:
        """Stops the cores that hold nothing any more; the controller forgets them as they stop."""
        for core in reversed(range(self.cores.count, len(self.plan.members))):
            if self._stop.is_set():
                return  # the next start goes on with it
            member = self._members[self.plan.members[core].id]
            self._retired.add(member.id)
            await self._stop_one(member, self._patience_s)
            if await asyncio.to_thread(self._is_forgotten, member.id):
                kept = remove_log_dirs(self.plan.config.list("log.dirs"), core)
                still = f" Remove what no topic needs, and its log dirs go: {', '.join(kept)}" if kept else ""
                self.cores_voice.left(member.id, f"Broker {member.id} is drained and gone.{still}")
            elif not self._stop.is_set():
                self.cores_voice.left(
                    member.id,
                    f"Broker {member.id} is drained and stopped, but still registered; its log dirs stay. "
                    f"Try: tidelog cluster unregister {member.id}",
                )
            self._rewrite_ready_file()

    def _is_forgotten(self, id: int) -> bool:
        deadline = time.monotonic() + GONE_PATIENCE_S
        while time.monotonic() < deadline and not self._stop.is_set():
            with suppress(CliError), self._session() as session:
                if id not in look_at_brokers(DirectCluster(session)).brokers:
                    return True
            time.sleep(LOOK_S)
        return False

    def _session(self) -> closing[Session]:
        properties = properties_for_brokers(self.plan.config)
        return closing(
            Session(
                servers=self.plan.broker_addresses, timeout_s=MOVE_TIMEOUT_S, properties=properties, json=True
            )
        )

    def _quorum(self) -> tuple[set[int], int | None]:
        """The first core stops last: it has the vote of the machine, and may be the controller."""
        first = self.plan.members[0].id
        return {first}, first

    def _stop_turns(self, order: Sequence[int], _: set[int]) -> list[Sequence[int]]:
        """No partition has two replicas here, so cores need not wait for each other; all need the first."""
        first = self.plan.members[0].id
        return [[id for id in order if id != first], [id for id in order if id == first]]

    async def _stop_all(self) -> None:
        if self._manager is not None:
            self._manager.stopping()
        await super()._stop_all()
        if self._manager is not None:
            self._manager.close()

    def _on_stdin(self) -> None:
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            self._stop.set()


def in_daemon_thread(job: Callable[[], None]) -> asyncio.Future[None]:
    """Unlike a thread of the loop's pool, it does not keep the process from its end."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def set_result(error: Exception | None) -> None:
        if not done.cancelled():
            done.set_result(None) if error is None else done.set_exception(error)

    def run() -> None:
        error: Exception | None = None
        try:
            job()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(set_result, error)

    threading.Thread(target=run, name="moves", daemon=True).start()
    return done


async def _until_set(event: asyncio.Event) -> None:
    await event.wait()


def _no_machines() -> CliError:
    return CliError(
        "The cluster cannot store broker.machine yet, so replicas of a partition could share this machine.",
        cause="tidelog.machine.version is at level 0: an earlier release began the cluster.",
        attempt="start with --cores 1; once all brokers run this version: tidelog cluster upgrade",
        code=Exit.REFUSED,
    )
