"""Sinks that are the real one until they die: the Python process, or Spark's whole JVM, at a chosen step.

`register(spark)` makes them known as formats: `dying-after-decide` dies once the intent is written.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from tidelog.blocking.cluster import Cluster
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.spark.data_source import TidelogDataSource
from tidelog.spark.sink.intents import Intent, Participant
from tidelog.spark.sink.two_phase_commit import Batch, TwoPhaseCommit
from tidelog.spark.sink.writers import Messages, StreamWriter

STEPS = ("hold", "prepare", "decide", "half-finish", "finish", "sweep")
"""Each is survived, and nothing after it. Between sweep and the next batch lies Spark's own commit."""


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kill_the_jvm() -> None:
    """The driver's: the ancestor of this Python worker that runs Java."""
    pid = os.getpid()
    while pid > 1:
        with open(f"/proc/{pid}/comm") as file:
            if file.read().strip() == "java":
                os.kill(pid, signal.SIGKILL)
                return
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    raise RuntimeError("no JVM above this process")


class DyingCommit(TwoPhaseCommit):
    last_step = ""
    die: Callable[[], None] = staticmethod(kill_this_process)

    def after(self, step: str) -> None:
        if step == self.last_step:
            type(self).die()

    def hold(self, batch: Batch) -> Any:
        held = super().hold(batch)
        self.after("hold")
        return held

    def prepare(self, batch: Batch, written: Sequence[Participant]) -> Intent:
        intent = super().prepare(batch, written)
        self.after("prepare")
        return intent

    def decide(self, held: Any, intent: Intent) -> None:
        super().decide(held, intent)
        self.after("decide")

    def finish(self, intent: Intent) -> None:
        if self.last_step == "half-finish":
            some = intent.participants[: len(intent.participants) // 2]
            super().finish(Intent(intent.query, intent.batch, some, intent.is_prepared))
            self.after("half-finish")
        super().finish(intent)
        self.after("finish")

    def sweep(self, query: str, left: Mapping[str, ProducerIdentity], decided: Intent | None) -> None:
        super().sweep(query, left, decided)
        self.after("sweep")


class DyingWriter(StreamWriter):
    kind: type[TwoPhaseCommit]
    is_dead = True
    """After a death nobody is left to abort; Spark does call, since it was only a part of it that died."""

    def two_phase_commit(self, cluster: Cluster) -> TwoPhaseCommit:
        return self.kind(cluster, self.options.two_phase_commit)

    def abort(self, messages: Messages, batchId: int) -> None:
        if not self.is_dead:
            self.kind = TwoPhaseCommit  # only the commit was to die
            super().abort(messages, batchId)


class DyingTaskWriter(DyingWriter):
    """The first task that writes a row `die once: PATH` dies, and leaves a file there."""

    def write(self, iterator: Iterator[Any]) -> Any:
        return super().write(self._rows(iterator))

    @staticmethod
    def _rows(iterator: Iterator[Any]) -> Iterator[Any]:
        for rows in iterator:
            yield rows
            for value in rows.column("value").to_pylist():
                _, wants_to, path = value.partition("die once: ")
                if wants_to and not os.path.exists(path):
                    open(path, "x").close()
                    kill_this_process()


def dying_source(name: str, writer: type[StreamWriter]) -> type[TidelogDataSource]:
    class Dying(TidelogDataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
            return writer(self.options, schema)

    return Dying


def register(spark: SparkSession, die: Callable[[], None] = kill_this_process) -> None:
    if __name__ in sys.modules and __name__ != "__main__":
        cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import it
    for step in (*STEPS, "nothing"):
        commit = type("Dying", (DyingCommit,), {"last_step": step, "die": staticmethod(die)})
        for is_dead in (True, False):
            writer = type("Writer", (DyingTaskWriter,), {"kind": commit, "is_dead": is_dead})
            name = f"dying-after-{step}" if is_dead else f"failing-after-{step}"
            spark.dataSource.register(dying_source(name, writer))
