"""`tidelog pipeline run`: from the file to running queries, and to a clean end however it is asked for."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import TidelogError
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.cli.spark.client_options import check_connection, client_options
from tidelog.cli.spark.metrics_port import address_of
from tidelog.cli.spark.metrics_server import served
from tidelog.cli.spark.pipeline_view import PipelineView
from tidelog.cli.spark.stop_flag import StopFlag
from tidelog.spark.engine.session import SparkMissing, spark_session
from tidelog.spark.pipeline.faults import InvalidPipeline
from tidelog.spark.pipeline.identity import WrongCheckpoint, claim_by_spark, claim_directory, identity_of
from tidelog.spark.pipeline.load import Loaded, load_pipeline, with_secrets
from tidelog.spark.pipeline.metrics import PipelineMetrics
from tidelog.spark.pipeline.records import VARIABLE, AlreadyRuns, NoRoom, PipelineRecord, state_directory
from tidelog.spark.pipeline.spec import Source
from tidelog.spark.secrets import by_reference, by_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.spark.pipeline.build import Build
    from tidelog.spark.pipeline.progress import QueryProgress

RECENT = {"spark.sql.streaming.numRecentProgressUpdates": "20"}


class PipelineRun:
    def __init__(
        self,
        session: Session,
        file: str,
        *,
        once: bool,
        checkpoint: str | None,
        master: str | None,
        remote: str | None,
        settings: Mapping[str, str],
        metrics: tuple[int | None, str | None] = (None, None),
    ) -> None:
        self.session = session
        # Before Spark starts, which inherits the environment that secrets may move to.
        self.loaded = with_secrets(checked(file), by_value if remote is not None else by_reference)
        self.client = client_options(session.connection, is_remote=remote is not None)
        self.record = PipelineRecord(state_directory(), self.loaded.name)
        self.once = once
        self.master = master
        self.remote = remote
        self.settings = settings
        spec = self.loaded.spec
        given = checkpoint or (spec.checkpoint if spec is not None else None)
        self.checkpoint = _place(given, self.loaded.directory if checkpoint is None else Path())
        of_file = (None, None) if spec is None else (spec.metrics_port, spec.metrics_host)
        self._metrics_address = address_of(*metrics, of_file)
        self._metrics = PipelineMetrics(self.loaded.name)
        self.view = PipelineView(as_json=session.json)
        self._stop = StopFlag()
        self._status: dict[str, Any] = {}

    def run(self) -> int:
        try:
            with self.record.running():
                self._stop.listen()
                with served(self._metrics, self._metrics_address, self.view.say):
                    return self._run_and_tell()
        except AlreadyRuns as error:
            raise CliError(
                f"{_sentence(error)}.", attempt=f"tidelog pipeline stop {self.loaded.name}"
            ) from error
        except NoRoom as error:
            raise CliError(f"{error}.", attempt=f"{VARIABLE}=DIR with a directory that can be") from error

    def _run_and_tell(self) -> int:
        self._refuse_endless_once()
        self._tell("starting")
        try:
            outcome = self._with_spark()
        except CliError as error:
            self._tell("failed", error=error.message)
            raise
        except BaseException as error:
            self._tell("failed", error=f"{type(error).__name__}: {error}")
            raise
        self._tell(outcome)
        return Exit.OK

    def _uses_the_session(self) -> bool:
        """Whether a topic of the pipeline is at the brokers that the command was given."""
        spec = self.loaded.spec
        if spec is None:
            return True
        named = [source.brokers for source in spec.sources.values() if source.file is None]
        named += [sink.brokers for sink in spec.sinks if sink.kind == "topic"]
        return spec.brokers is None and None in named

    def _with_spark(self) -> str:
        began = time.monotonic()
        spec = self.loaded.spec
        if spec is not None and not self._is_far_away:  # to be refused takes no Spark
            self._claim(None, spec.sources)
        if self._uses_the_session():
            check_connection(self.session)
        self.view.say("Starting Spark…", event="starting", pipeline=self.loaded.name)
        spark = started_spark(self, log=self.record.log)
        self._stop.listen()  # Spark has put its own in their place
        try:
            if self._stop.is_set:
                return "stopped"
            built = built_pipeline(spark, self.loaded, self.session.servers, self.client)
            self._refuse_console_far_away(built)
            self._refuse_updates_far_away(built)
            if spec is None or self._is_far_away:
                self._claim(spark, built.sources)
            return self._until_done(spark, built, began)
        finally:
            spark.stop()

    def _until_done(self, spark: "SparkSession", built: "Build", began: float) -> str:
        from tidelog.spark.pipeline.build import build
        from tidelog.spark.pipeline.run import PipelineFailed, Run

        run = Run(
            self._checkpoint,
            once=self.once,
            show=self.view.rows,
            note=self._warn,
            rebuild=lambda: build(spark, self.loaded, self.session.servers, self.client),
        )
        try:
            run.start(built)
            names = [query.name for query in built.queries]
            self.view.say(
                f"Running '{self.loaded.name}' after {time.monotonic() - began:.1f} s; Ctrl-C stops it.",
                event="running",
                pipeline=self.loaded.name,
                queries=names,
            )
            self.view.begin()
            outcome = run.until_done(self._is_asked_to_stop, self._report)
        except PipelineFailed as error:
            raise CliError(
                f"{_sentence(error)}",
                cause=f"Spark's log may say more: {self.record.log}" if self.remote is None else None,
                attempt="run the same command again once the cause is gone: it resumes from the checkpoint",
            ) from error
        finally:
            self.view.end()
        again = "" if self.once else " The next run goes on from here."
        self.view.say(
            f"{outcome.value.capitalize()} cleanly.{again}", event=outcome.value, pipeline=self.loaded.name
        )
        return outcome.value

    @property
    def _checkpoint(self) -> str:
        return self.checkpoint or str(self.record.default_checkpoint)

    @property
    def _is_far_away(self) -> bool:
        """Only Spark can reach the checkpoint."""
        return "://" in self._checkpoint or self.remote is not None

    def _claim(self, spark: "SparkSession | None", sources: Mapping[str, Source]) -> None:
        """The checkpoint is this pipeline's, or the run ends here."""
        identity = identity_of(self.loaded.name, sources, self.loaded.text)
        try:
            if spark is not None and self._is_far_away:
                changed = claim_by_spark(spark, self._checkpoint, identity)
            else:
                changed = claim_directory(Path(self._checkpoint), identity)
        except WrongCheckpoint as error:
            raise CliError(
                f"{_sentence(error)}.",
                cause="resuming from there would skip or repeat records.",
                attempt="--checkpoint DIR with another directory, or remove that one to start over",
                code=Exit.REFUSED,
            ) from error
        except OSError as error:
            raise CliError(
                f"{self._checkpoint} cannot be the directory of a checkpoint: {error.strerror}.",
                attempt="--checkpoint DIR with another directory",
            ) from error
        if changed:
            self.view.say("Note: the file has changed since the checkpoint was made.")

    def _refuse_console_far_away(self, built: "Build") -> None:
        if self.remote is not None and any(query.sink.kind == "console" for query in built.queries):
            raise CliError(
                "A console sink would print on the server, not here.",
                attempt="a topic as sink, and tidelog consume TOPIC",
                code=Exit.USAGE,
            )

    def _refuse_endless_once(self) -> None:
        """Spark looks for timers of the clock's time again and again, and so never comes to an end."""
        steps = [] if self.loaded.spec is None else self.loaded.spec.steps
        for step in steps:
            if self.once and step.state is not None and step.state.time == "processing":
                raise CliError(
                    f"With --once, the step '{step.name}' would never end: its timers wait for the clock.",
                    attempt="'time: event' with a watermark, or run it without --once",
                    code=Exit.USAGE,
                )

    def _refuse_updates_far_away(self, built: "Build") -> None:
        """Their writer asks the session which query it works for, and Connect keeps that to itself."""
        for query in built.queries:
            sink = query.sink
            if self.remote is not None and sink.upsert is not None:
                raise CliError(
                    "With --remote, rows of a table cannot be upserted.",
                    cause="the writer needs the query's id, which Spark Connect does not pass on.",
                    attempt="--master",
                    code=Exit.USAGE,
                )
            if self.remote is not None and sink.mode != "append" and sink.delivery == "exactly-once":
                raise CliError(
                    f"With --remote, the topic '{sink.topic}' cannot be updated exactly once.",
                    attempt="'mode: append' or 'delivery: at-least-once' there, or --master",
                    code=Exit.USAGE,
                )

    def _warn(self, text: str) -> None:
        self.view.say(f"Note: {text}", event="note", note=text)

    def _report(self, found: "list[QueryProgress]") -> None:
        self._metrics.take(found)
        self.view.progress(found)
        self._tell("running", queries=[query.as_json() for query in found])

    def _tell(self, state: str, **facts: object) -> None:
        now = time.time()
        self._status = {
            "pid": os.getpid(),
            "file": str(self.loaded.path.resolve()),
            "checkpoint": self._checkpoint,
            "brokers": self.session.servers,
            "log": str(self.record.log),
            "started": self._status.get("started", now),
            "queries": self._status.get("queries", []),
            **facts,
            "state": state,
            "updated": now,
        }
        self.record.write_status(self._status)

    def _is_asked_to_stop(self) -> bool:
        return self._stop.is_set or self.record.is_asked_to_stop


def checked(file: str) -> Loaded:
    try:
        return load_pipeline(file)
    except InvalidPipeline as error:
        raise _invalid(file, error) from error


def planned(session: Session, loaded: Loaded) -> list[str]:
    """The names of the queries, after Spark has looked at all of them."""
    loaded, client = with_secrets(loaded, by_reference), client_options(session.connection)
    spark = _spark_or_refusal(loaded.name, None, None, {}, None)
    try:
        built = built_pipeline(spark, loaded, session.servers, client, may_register=False)
        return [query.name for query in built.queries]
    finally:
        spark.stop()


def built_pipeline(
    spark: "SparkSession",
    loaded: Loaded,
    brokers: str,
    client: Mapping[str, str],
    *,
    may_register: bool = True,
) -> "Build":
    from tidelog.spark.pipeline.build import build

    try:
        return build(spark, loaded, brokers, client, may_register=may_register)
    except InvalidPipeline as error:
        raise _invalid(str(loaded.path), error) from error


def started_spark(run: PipelineRun, log: Path) -> "SparkSession":
    spec = run.loaded.spec
    own = {} if spec is None else {name: str(value) for name, value in spec.settings.items()}
    settings = {**RECENT, **own, **run.settings}
    return _spark_or_refusal(run.loaded.name, run.master, run.remote, settings, log)


def _spark_or_refusal(
    name: str, master: str | None, remote: str | None, settings: Mapping[str, str], log: Path | None
) -> "SparkSession":
    try:
        return spark_session(name, master=master, remote=remote, settings=settings, log_file=log)
    except SparkMissing as error:
        raise CliError(str(error), attempt="pip install 'tidelog[spark]'") from error
    except TidelogError as error:
        raise CliError(str(error)) from error


def _invalid(file: str, error: InvalidPipeline) -> CliError:
    count = len(error.faults)
    found = "\n    ".join(map(str, error.faults))
    things = "one thing is" if count == 1 else f"{count} things are"
    return CliError(
        f"In {file}, {things} not right:\n    {found}",
        attempt="docs/pipelines.md has every key",
        code=Exit.USAGE,
    )


def _place(given: str | None, directory: Path) -> str | None:
    if given is None or "://" in given:
        return given
    return str((directory / given).resolve())


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:]
