"""The life of a pipeline's queries: started together, watched, stopped together.

A stop waits for the batch under way, so that nothing is written twice after the next start; what takes
longer than the grace is interrupted, which costs a repeated batch and loses nothing.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import TidelogError
from tidelog.spark.pipeline.build import Build, Query
from tidelog.spark.pipeline.progress import Meter, QueryProgress
from tidelog.spark.pipeline.sinks import Show, writer_of
from tidelog.spark.pipeline.spark_faults import spark_said
from tidelog.spark.pipeline.topics import create_missing_topic
from tidelog.spark.values.registered.errors import SchemaChanged

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY_S = 0.2
REPORT_EVERY_S = 1.0
GRACE_S = 30.0

# Spark gives a source's Python process ten seconds to come up, and has no setting for it.
SLOW_START, SLOW_STARTS_MAX = "Python worker failed to connect back", 20
SCHEMA_CHANGED = f"{SchemaChanged.__module__}.{SchemaChanged.__name__}: "
"""How Python's traceback names it, which is all that Spark passes on."""
BEGIN_PATIENCE_S = 10.0
INITIALIZING = "Initializing sources"


class PipelineFailed(TidelogError):
    """A query ended by an error; the checkpoint is as it was after the last whole batch."""


class RunOutcome(Enum):
    FINISHED = "finished"
    STOPPED = "stopped"


class Run:
    def __init__(
        self,
        checkpoint: str,
        *,
        once: bool,
        show: Show,
        note: Callable[[str], None] = lambda text: None,
        rebuild: Callable[[], Build] | None = None,
    ) -> None:
        """`note` takes what a person should know though the pipeline runs on. `rebuild` makes the queries
        anew, with the newest schemas; without it a newer schema ends the run."""
        self._checkpoint = checkpoint.rstrip("/")
        self._once = once
        self._show = show
        self._note = note
        self._rebuild = rebuild
        self._noted: dict[str, str | None] = {}
        self._built: Build | None = None
        self._slow_starts = 0
        self._queries: dict[str, StreamingQuery] = {}
        self._meters: dict[str, Meter] = {}

    def start(self, built: Build) -> None:
        """All queries, or none: what Spark refuses to start stops the others again."""
        self._built = built
        self._take_lookups(built)
        for query in built.queries:
            self._ensure_topic(query, built.brokers)
        for query in built.queries:
            self._meters.setdefault(query.name, Meter(query.name))
            self._queries[query.name] = self._started(query, built)
            self._wait_for_sources(query.name)

    def _ensure_topic(self, query: Query, brokers: str) -> None:
        try:
            if query.sink.kind == "topic":
                create_missing_topic(query.sink, brokers)
        except TidelogError as error:
            raise PipelineFailed(f"the topic '{query.sink.topic}' cannot be written to: {error}") from error

    def _started(self, query: Query, built: Build) -> "StreamingQuery":
        writer = writer_of(
            query.frame,
            query.sink,
            query.name,
            brokers=built.brokers,
            directory=built.directory,
            show=self._show,
        )
        if self._once:
            writer = writer.trigger(availableNow=True)
        elif query.sink.every is not None:
            writer = writer.trigger(processingTime=query.sink.every)
        place = f"{self._checkpoint}/{query.name}"
        try:
            return writer.queryName(f"{built.name}.{query.name}").option("checkpointLocation", place).start()
        except Exception as error:
            self._stop_all(0.0)
            raise PipelineFailed(f"the query '{query.name}' did not start: {spark_said(error)}") from error

    def until_done(
        self, is_asked_to_stop: Callable[[], bool], report: Callable[[list[QueryProgress]], None]
    ) -> RunOutcome:
        """Until every query ended by itself, or it was asked to stop. PipelineFailed where one failed."""
        try:
            return self._until_done(is_asked_to_stop, report)
        finally:
            for lookup in self._built.lookups.values() if self._built is not None else ():
                lookup.forget()

    def _until_done(
        self, is_asked_to_stop: Callable[[], bool], report: Callable[[list[QueryProgress]], None]
    ) -> RunOutcome:
        reported_s = 0.0
        while True:
            self._raise_failure()
            if is_asked_to_stop():
                self._stop_all(GRACE_S)
                self._raise_failure(last=True)
                report(self.progress())
                return RunOutcome.STOPPED
            if not any(query.isActive for query in self._queries.values()):
                if self._raise_failure():
                    continue
                report(self.progress())
                return RunOutcome.FINISHED
            if time.monotonic() - reported_s >= REPORT_EVERY_S:
                report(self.progress())
                self._look_at_lookups()
                reported_s = time.monotonic()
            time.sleep(LOOK_EVERY_S)

    def _take_lookups(self, built: Build) -> None:
        for name, lookup in built.lookups.items():
            try:
                lookup.renewed()
            except TidelogError as error:
                raise PipelineFailed(f"the source '{name}' cannot be read: {error}") from error

    def _look_at_lookups(self) -> None:
        """Notes an unusable version once; the batches keep using the previous version."""
        for name, lookup in ({} if self._built is None else self._built.lookups).items():
            said = lookup.complaint()
            if said is not None and said != self._noted.get(name):
                self._note(f"{said}; '{name}' stays as it was before.")
            self._noted[name] = said

    def progress(self) -> list[QueryProgress]:
        now_s = time.time()
        return [
            self._meters[name].take(_reports(query.recentProgress), now_s, is_active=query.isActive)
            for name, query in self._queries.items()
        ]

    def _wait_for_sources(self, name: str) -> None:
        """One after the other: processes that start at once on a small machine all take too long."""
        deadline = time.monotonic() + BEGIN_PATIENCE_S
        query = self._queries[name]
        while query.isActive and query.status["message"] == INITIALIZING and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S / 4)

    def _is_tried_again(self, name: str, said: str) -> bool:
        if SLOW_START not in said or self._built is None or self._slow_starts == SLOW_STARTS_MAX:
            return False
        self._slow_starts += 1
        self._meters[name].restarted()
        [query] = [query for query in self._built.queries if query.name == name]
        self._queries[name] = self._started(query, self._built)
        return True

    def _raise_failure(self, *, last: bool = False) -> bool:
        """True where queries that failed for a passing reason were started again."""
        is_started = False
        for name, query in list(self._queries.items()):
            error = None if query.isActive else query.exception()
            if error is None:
                continue
            said = str(error)
            if SCHEMA_CHANGED in said and (last or self._is_evolved(said)):
                if last:  # the next run begins with the newer schema
                    continue
                return True
            if last or not self._is_tried_again(name, said):
                self._stop_all(0.0)
                raise PipelineFailed(f"the query '{name}' failed: {failure_text(said)}")
            is_started = True
        return is_started

    def _is_evolved(self, said: str) -> bool:
        """Starts all queries again with the newest schemas; the batch that met a newer one is repeated whole.

        All of them, since each query of a source reads it as the same schema: steps and dead letters."""
        before = self._built
        if before is None or self._rebuild is None:
            return False
        self._stop_all(GRACE_S)
        try:
            built = self._rebuild()
        except TidelogError as error:
            raise PipelineFailed(
                f"{failure_text(said)}, and with it the pipeline does not run: {error}"
            ) from error
        changes = [
            f"'{name}' is read as {reader} now, after version {before.readers[name].version}"
            for name, reader in built.readers.items()
            if name in before.readers and reader.version != before.readers[name].version
        ]
        if not changes:
            return False
        for lookup in before.lookups.values():
            lookup.forget()
        self._note("; ".join(changes) + ".")
        self.start(built)
        return True

    def _stop_all(self, grace_s: float) -> None:
        deadline = time.monotonic() + grace_s
        waiting = {name: _last_batch(query) for name, query in self._queries.items() if query.isActive}
        while waiting and time.monotonic() < deadline:
            for name, batch in list(waiting.items()):
                query = self._queries[name]
                is_between = not query.status.get("isTriggerActive") or _last_batch(query) != batch
                if is_between or not query.isActive:
                    query.stop()
                    del waiting[name]
            time.sleep(LOOK_EVERY_S / 4)
        for name in waiting:
            self._queries[name].stop()


def failure_text(said: str) -> str:
    """The sentence that a person can act on: that of the innermost cause, where Python or SQL raised it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line in reversed(lines):
        if "USER_RAISED_EXCEPTION] " in line:
            return line.partition("USER_RAISED_EXCEPTION] ")[2].partition(" SQLSTATE")[0]
    for line in reversed(lines):
        head, _, message = line.partition(": ")
        if head.startswith("tidelog.") and message:
            return message  # our own errors say what to do without the name of their class
        if head.startswith("pyspark.errors.") or (head.isidentifier() and head.endswith("Error")):
            return line
    return spark_said(Exception(said))


def _last_batch(query: "StreamingQuery") -> int:
    last = query.lastProgress
    return -1 if last is None else int(last["batchId"])


def _reports(progress: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [json.loads(item.json) if hasattr(item, "json") else item for item in progress]
