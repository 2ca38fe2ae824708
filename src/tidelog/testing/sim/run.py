"""One seed, start to end: a cluster comes up, lives through faults, is healed, and must be whole again."""

import asyncio
import gc
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from tidelog.testing.checkers import check, realtime_lag
from tidelog.testing.history import Operation
from tidelog.testing.sim.cluster import SimCluster
from tidelog.testing.sim.consumer import SimConsumer
from tidelog.testing.sim.convergence import why_not_whole
from tidelog.testing.sim.invariants import Invariants
from tidelog.testing.sim.life import Life
from tidelog.testing.sim.loop import SimLoop, Stuck
from tidelog.testing.sim.nemesis import Nemesis
from tidelog.testing.sim.producer import SimProducer
from tidelog.testing.sim.scenario import Scenario, scenario_of

START_SECONDS = 20.0
HEAL_SECONDS = 30.0
PRODUCERS_END_SECONDS = 1.0
LOOK_SECONDS = 0.05
WORLD_SECONDS_MAX = 200.0

Sabotage = Callable[[SimCluster], None]


class Result(msgspec.Struct):
    scenario: Scenario
    problems: list[str] = []
    trace_hash: str = ""
    virtual_seconds: float = 0.0
    real_seconds: float = 0.0
    steps: int = 0
    faults: int = 0
    operations: int = 0
    records_read: int = 0
    lag_seconds: float = 0.0
    lines: list[str] = []

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def replay(self) -> str:
        return f"python -m tidelog.testing.sim --seeds {self.scenario.seed} --verbose"


def run_seed(seed: int, scenario: Scenario | None = None) -> Result:
    """Whatever happens in the simulated world, this returns; it raises only what ends a Python process."""
    scenario = scenario or scenario_of(seed)
    result = Result(scenario)
    began = time.perf_counter()
    loop = SimLoop()
    cluster = SimCluster(scenario, loop)
    was_enabled = gc.isenabled()
    gc.disable()  # when it runs, a collection ends forgotten tasks at moments that no seed controls
    try:
        with _captured_log(cluster, result):
            run = _Run(cluster, result)
            loop.on_error = run.on_error
            try:
                loop.run_until_complete(run.whole())
            except Stuck as error:
                result.problems.append(f"stuck: {error}")
            except Exception as error:
                result.problems.append(f"{error!r}\n{traceback.format_exc()}")
            result.problems += loop.errors
            run.judge()
            result.trace_hash = cluster.trace.hash
            result.lines = list(cluster.trace.lines)
            result.virtual_seconds, result.steps = loop.now, loop.steps
            loop.close()
    finally:
        if was_enabled:
            gc.enable()
    result.real_seconds = time.perf_counter() - began
    return result


class _Run:
    def __init__(self, cluster: SimCluster, result: Result) -> None:
        self._cluster = cluster
        self._loop = cluster.loop
        self._result = result
        self._invariants = Invariants(cluster)
        self._producers: dict[Life, SimProducer] = {}
        self._consumers: dict[Life, SimConsumer] = {}
        self._gone: list[SimProducer | SimConsumer] = []

    def on_error(self, error: BaseException) -> None:
        self._cluster.trace.lines.extend("".join(traceback.format_exception(error)).splitlines())

    async def whole(self) -> None:
        scenario, cluster = self._cluster.scenario, self._cluster
        watching = self._loop.create_task(self._watch(), name="watch")
        for machine in cluster.machines:
            machine.start()
        _, admin = cluster.new_client("admin")
        for name, partitions in scenario.topics.items():
            try:
                await admin.create_topic(
                    name, partitions=partitions, replicas=scenario.replicas, configs={}, seconds=START_SECONDS
                )
            except TimeoutError:
                self._result.problems.append(f"no topic within {START_SECONDS:g} s: {admin.last_problem}")
                return
        for acks in scenario.acks:
            self._start_producer(acks)
        for _ in range(scenario.consumers):
            self._start_consumer()
        nemesis = Nemesis(cluster, self._crash_client)
        await nemesis.run()
        self._result.faults = nemesis.count
        await nemesis.heal()
        await self._become_whole()
        await self._finish()
        watching.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._invariants.check()
            if self._loop.now > WORLD_SECONDS_MAX:
                raise Stuck(f"the run takes more than {WORLD_SECONDS_MAX:g} s")

    # Clients

    def _start_producer(self, acks: int) -> None:
        life, client = self._cluster.new_client("p")
        producer = SimProducer(
            self._loop,
            client,
            self._cluster.history,
            topics=self._cluster.scenario.topics,
            acks=acks,
            sends_per_second=self._cluster.scenario.sends_per_second,
        )
        self._producers[life] = producer
        self._loop.spawn(life, producer.run(), name=client.name)

    def _start_consumer(self) -> None:
        life, client = self._cluster.new_client("c")
        consumer = SimConsumer(self._loop, client, self._cluster.history, self._cluster.scenario.topics)
        self._consumers[life] = consumer
        self._loop.spawn(life, consumer.run(), name=client.name)

    def _crash_client(self) -> None:
        """A client dies with what it had under way; another takes its place."""
        producing = next(iter(self._producers))
        producer = self._producers.pop(producing)
        self._end_client(producing, producer)
        self._start_producer(producer.acks)
        consuming = next(iter(self._consumers))
        self._end_client(consuming, self._consumers.pop(consuming))
        self._start_consumer()

    def _end_client(self, life: Life, client: SimProducer | SimConsumer) -> None:
        self._cluster.note(f"{life.name} is killed")
        self._loop.kill(life)
        self._cluster.network.life_died(life, life.name, quietly=False)
        self._gone.append(client)
        now = self._loop.now
        self._cluster.history.add(Operation(life.name, "crash", started=now, ended=now))

    # After the faults

    async def _become_whole(self) -> None:
        deadline = self._loop.now + HEAL_SECONDS
        while (reason := why_not_whole(self._cluster)) is not None:
            if self._loop.now > deadline:
                self._result.problems.append(f"not whole {HEAL_SECONDS:g} s after all was healed: {reason}")
                return
            await asyncio.sleep(0.1)
        self._cluster.note("whole again")

    async def _finish(self) -> None:
        """Producers end, and everybody reads to the end."""
        for producer in self._producers.values():
            producer.is_stopping = True
        await asyncio.sleep(PRODUCERS_END_SECONDS)
        life, client = self._cluster.new_client("final")
        final = SimConsumer(self._loop, client, self._cluster.history, self._cluster.scenario.topics)
        reading = self._loop.spawn(life, self._read_all(final), name="final")
        try:
            async with asyncio.timeout(HEAL_SECONDS):
                await reading
        except TimeoutError:
            self._result.problems.append(f"the last reads did not end within {HEAL_SECONDS:g} s")
            return
        self._invariants.check()
        now = self._loop.now
        self._cluster.history.add(Operation(client.name, "final", started=now, ended=now))

    async def _read_all(self, final: SimConsumer) -> None:
        for consumer in (*self._consumers.values(), final):
            consumer.is_stopping = True
        await final.read_to_the_end()

    def judge(self) -> None:
        result = self._result
        for told, when in self._invariants.broken.items():
            result.problems.append(f"at {when:.2f} s: {told}")
        for client in (*self._producers.values(), *self._consumers.values(), *self._gone):
            result.problems += client.complaints
        history = self._cluster.history
        result.problems += map(str, check(history))
        result.operations = len(history)
        result.records_read = sum(len(operation.read) for operation in history)
        result.lag_seconds = realtime_lag(history)


class _Lines(logging.Handler):
    def __init__(self, cluster: SimCluster, result: Result) -> None:
        super().__init__(logging.WARNING)
        self._cluster = cluster
        self._result = result

    def emit(self, record: logging.LogRecord) -> None:
        life = self._cluster.loop.current_life
        now = self._cluster.loop.now
        self._cluster.trace.lines.append(
            f"{now:9.4f} [{life.name}] {record.levelname} {record.name}: {record.getMessage()}"
        )
        if record.exc_info and record.exc_info[1] is not None:
            # A broker logs a traceback where something happened that its code did not foresee.
            told = "".join(traceback.format_exception(record.exc_info[1]))
            self._cluster.trace.lines.extend(told.splitlines())
            self._result.problems.append(
                f"at {now:.2f} s {life.name} logged: {record.getMessage()}: {record.exc_info[1]!r}"
            )


@contextmanager
def _captured_log(cluster: SimCluster, result: Result) -> Iterator[None]:
    logger = logging.getLogger("tidelog")
    handler = _Lines(cluster, result)
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
