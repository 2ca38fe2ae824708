"""One machine of the simulated cluster: a disk, and the real broker that runs on it, life after life."""

import asyncio
import logging
import random
from collections.abc import Callable

from tidelog.base.config.config import BrokerConfig
from tidelog.node.node import BrokerNode
from tidelog.testing.sim.network.network import SimNetwork
from tidelog.testing.sim.runtime.clock import SimClock, SimRandom
from tidelog.testing.sim.runtime.disk import SimDisk
from tidelog.testing.sim.runtime.life import Life
from tidelog.testing.sim.runtime.loop import SimLoop
from tidelog.testing.sim.runtime.threads import DiskPace, SimThreads

log = logging.getLogger("tidelog.sim")


class Machine:
    """`start`, `kill`, `cut_power`, `stop`, `pause`; what they do to the process, real faults do."""

    def __init__(
        self,
        id: int,
        config: BrokerConfig,
        *,
        loop: SimLoop,
        network: SimNetwork,
        seed: str,
        note: Callable[[str], None],
    ) -> None:
        self.id = id
        self.host = f"n{id}"
        self.config = config
        self._disks = 0
        self.disk = self._new_disk(seed)
        self.pace = DiskPace(random.Random(f"{seed} pace {id}"))
        self._loop = loop
        self._network = network
        self._seed = seed
        self._note = note
        self.lives = 0
        self.life: Life | None = None
        self.process: BrokerNode | None = None
        """While it is alive, from the beginning of its start."""
        self.serves = False
        self.is_stopping = False
        self.disk_is_bad = False
        """Until an operator looks after it."""
        self.wall_offset_ms = 0
        self.wall_offsets_ms = {0}
        """All that its wall clock has had."""
        self.failed_starts: list[str] = []

    @property
    def is_alive(self) -> bool:
        return self.life is not None and self.life.is_alive

    @property
    def is_paused(self) -> bool:
        return self.life is not None and self.life.is_alive and self.life.is_paused

    @property
    def failure(self) -> Exception | None:
        """Why the broker that serves cannot go on, as it says itself."""
        return self.process.failure if self.process is not None and self.serves else None

    def start(self) -> None:
        """Begin a new process; `node` is there once it serves."""
        self.lives += 1
        name = f"{self.host}.{self.lives}"
        # Monotonic clocks of two processes have nothing to do with each other.
        life = self.life = Life(name, local_start=1000.0 * self.lives + 17.0 * self.id)
        life.wall_offset_ms = self.wall_offset_ms
        self._note(f"{name} starts")
        self._loop.spawn(life, self._run(life), name=f"{name} main")

    async def _run(self, life: Life) -> None:
        node = self.process = BrokerNode(
            self.config,
            disk=self.disk,
            clock=SimClock(self._loop, life),
            random=SimRandom(f"{self._seed} node {self.id} life {self.lives}"),
            network=self._network.port_of(life, self.host),
            threads=SimThreads(self._loop, self.pace),
        )
        try:
            await node.start()
        except Exception as error:
            log.warning("%s cannot start: %r", life.name, error)
            self._note(f"{life.name} cannot start: {error!r}")
            self.failed_starts.append(repr(error))
            self._end(life, quietly=False)
        else:
            self._note(f"{life.name} serves")
            self.serves = True

    def kill(self) -> None:
        """kill -9: nothing of what it wrote is lost."""
        if self.life is not None and self.life.is_alive:
            self._note(f"{self.life.name} is killed")
            self._end(self.life, quietly=False)
            self.disk.process_died()

    def make_room(self) -> None:
        """On a disk that was full; whatever runs goes on."""
        self._note(f"there is room on the disk of {self.host}")
        self.disk.heal()
        self.disk_is_bad = False

    def replace_process(self) -> None:
        """An operator looks after the machine: its disk works again, and the broker is started anew."""
        self.kill()
        self.disk.heal()
        self.disk_is_bad = False
        if not self.is_alive:
            self.start()

    def _new_disk(self, seed: str) -> SimDisk:
        self._disks += 1
        disk = SimDisk(random.Random(f"{seed} disk {self.id}.{self._disks}").getrandbits(32))
        disk.on_power_cut = self._power_is_gone
        return disk

    def lose_disk(self) -> None:
        self._note(f"{self.host} has lost its disk")
        self.disk = self._new_disk(self._seed)

    def cut_power(self) -> None:
        """What was not synced may be lost, and no peer is notified."""
        if self.life is not None and self.life.is_alive:
            self._power_is_gone()

    def _power_is_gone(self) -> None:
        life = self.life
        if life is None or not life.is_alive:
            return
        self._note(f"{life.name} has no power")
        self._end(life, quietly=True)
        # The disk is shared with an operation that is under way when power is cut within one.
        self._loop.call_soon(self.disk.crash, context=self._loop.world.context)

    def _end(self, life: Life, *, quietly: bool) -> None:
        self.process, self.serves, self.is_stopping = None, False, False
        self._loop.kill(life)
        self._network.life_died(life, self.host, quietly=quietly)
        if not quietly:
            self.disk.process_died()

    async def stop(self) -> None:
        """In order, as SIGTERM does."""
        node, life = self.process, self.life
        if node is None or life is None or not self.serves:
            return
        self._note(f"{life.name} stops")
        self.serves, self.is_stopping = False, True
        stopping = self._loop.spawn(life, node.stop(), name=f"{life.name} stop")
        # Not awaited: a caller that gives up waiting must not disturb it, and it may die before it ends.
        while life.is_alive and not stopping.done():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if life.is_alive:
            self._note(f"{life.name} has stopped")
            self._end(life, quietly=False)
            if (error := stopping.exception()) is not None:
                log.error("%s did not stop in order", life.name, exc_info=error)

    def pause(self) -> None:
        if self.life is not None and self.life.is_alive and not self.life.is_paused:
            self._note(f"{self.life.name} is paused")
            self._loop.pause(self.life)

    def resume(self) -> None:
        if self.life is not None and self.life.is_alive and self.life.is_paused:
            self._note(f"{self.life.name} goes on")
            self._loop.resume(self.life)

    def jump_clock(self, milliseconds: int) -> None:
        self.wall_offset_ms += milliseconds
        self.wall_offsets_ms.add(self.wall_offset_ms)
        if self.life is not None:
            self._note(f"the clock of {self.life.name} jumps by {milliseconds} ms")
            self.life.wall_offset_ms = self.wall_offset_ms

    def drift_clock(self, rate: float) -> None:
        if self.life is not None:
            self._note(f"the clock of {self.life.name} runs at {rate:.3f}")
            self.life.drift(rate, self._loop.now)
