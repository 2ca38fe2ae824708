"""`tidelog lake sync`: from what was asked for to a table that is up to date, and to a clean end."""

import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import KafkaError, TidelogError
from tidelog.blocking.errors import BrokersUnreachable
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.cli.spark.client_options import check_connection, client_options
from tidelog.cli.spark.metrics_port import MetricsAddress
from tidelog.cli.spark.metrics_server import served
from tidelog.cli.spark.pipeline_view import PipelineView
from tidelog.cli.spark.stop_flag import StopFlag
from tidelog.spark.engine.session import SparkMissing, spark_session
from tidelog.spark.errors import OptionError
from tidelog.spark.lake.sync_claim import SPARK_LOG, AlreadySyncing, Claim, SyncRefused, claim, locked
from tidelog.spark.pipeline.metrics import PipelineMetrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tidelog.spark.lake.sync import Sync
    from tidelog.spark.pipeline.build import Build
    from tidelog.spark.pipeline.progress import QueryProgress
    from tidelog.spark.values.value_decoding import Decoding

RECENT = {"spark.sql.streaming.numRecentProgressUpdates": "20"}
CHECKPOINT = "_tidelog/sync"
RETRY_S = 30.0
"""How long a task asks a registry that does not answer, before the sync fails and keeps its place."""


@dataclass(frozen=True, slots=True)
class SyncRequest:
    topic: str
    path: str
    table_format: str
    every: str | None
    """None ends with what is there now."""
    schema: str | None
    sample: str | None
    decode: str | None
    registry_url: str | None
    subject: str | None
    message: str | None
    framing: str
    on_error: str
    dead_letter: str | None
    columns: tuple[str, ...]
    prefix: str
    partition_by: tuple[str, ...]
    start: str
    batch_records: int
    checkpoint: str | None
    table_options: Mapping[str, str]
    master: str | None
    settings: Mapping[str, str]
    metrics: MetricsAddress | None = None


class LakeSync:
    def __init__(self, session: Session, request: SyncRequest) -> None:
        self.session = session
        self.request = request
        self.checkpoint = _checkpoint(request)
        self.view = PipelineView(as_json=session.json)
        self._stop = StopFlag()
        self._done: list[QueryProgress] = []
        self._metrics = PipelineMetrics(f"sync-{request.topic}")

    def run(self) -> int:
        with _as_refusals():
            sync = self._sync()
            check_connection(self.session)
            topic_id = self._topic_id(sync)
            try:
                with locked(self.checkpoint):
                    self._stop.listen()
                    with served(self._metrics, self.request.metrics, self.view.say):
                        return self._with_spark(sync, topic_id)
            except AlreadySyncing as error:
                raise CliError(
                    f"{_sentence(error)}.",
                    attempt="wait until it has ended, or stop it with Ctrl-C in its terminal",
                    code=Exit.REFUSED,
                ) from error

    def _sync(self) -> "Sync":
        from tidelog.spark.lake.options import parse_options
        from tidelog.spark.lake.sync import COLUMNS, OnBad, Sync
        from tidelog.spark.pipeline.moments import start_options
        from tidelog.spark.pipeline.spec import Source

        request = self.request
        start_options(request.start)
        strange = [name for name in request.columns if name not in COLUMNS]
        if strange:
            raise OptionError(f"--columns has {', '.join(strange)}, and records have {', '.join(COLUMNS)}")
        decoding = self._decoding()
        if decoding is None and request.on_error != OnBad.FAIL:
            raise OptionError(
                f"--on-error {request.on_error} is about decoding, and there is no --schema and no --registry"
            )
        how: dict[str, Any] = {}
        if decoding is not None:
            how = {"decode": decoding.kind.value, "framing": request.framing}
        sync = Sync(
            topic=request.topic,
            path=request.path if "://" in request.path else str(Path(request.path).resolve()),
            table_format=request.table_format,
            brokers=self.session.servers,
            columns=request.columns,
            prefix=request.prefix,
            partition_by=request.partition_by,
            source=Source(
                topic=request.topic,
                start=request.start,
                schema=request.schema,
                sample=request.sample,
                message=request.message,
                dead_letter=request.dead_letter,
                **how,
            ),
            decoding=decoding,
            on_bad=OnBad(request.on_error),
            batch_records=request.batch_records,
            every=request.every,
            client={
                f"kafka.{name}": value for name, value in client_options(self.session.connection).items()
            },
            table_options=request.table_options,
        )
        parse_options(sync.lake_options())
        return sync

    def _decoding(self) -> "Decoding | None":
        from tidelog.spark.values.value_decoding import load_decoding

        request = self.request
        if request.schema is None and request.sample is None:
            is_wanted = request.registry_url or request.decode or request.subject
            return self._registered() if is_wanted else None
        for name, value in (("--registry", request.registry_url), ("--subject", request.subject)):
            if value is not None:
                raise OptionError(f"{name} does not go with --schema and --sample")
        return load_decoding(
            _kind(request),
            schema=request.schema,
            sample=request.sample,
            message=request.message,
            framing=request.framing,
        )

    def _registered(self) -> "Decoding":
        """By the registry, which is asked now, and again when a record with a newer schema comes."""
        from tidelog.cli.schema.connection import default_registry, find_registry
        from tidelog.spark.values.errors import BadSchema
        from tidelog.spark.values.registered.reader import SubjectChoice
        from tidelog.spark.values.value_decoding import registered_decoding

        request = self.request
        found = find_registry(self.session, request.registry_url) or default_registry(self.session)
        options = replace(found.embedded(), retry_s=RETRY_S)
        choice = SubjectChoice(options, request.subject or f"{request.topic}-value")
        try:
            return registered_decoding(request.decode, choice, request.message)
        except BadSchema as error:
            if request.registry_url or request.subject:
                raise
            raise BadSchema(f"{error}. For a schema file, give --schema") from error

    def _topic_id(self, sync: "Sync") -> str:
        """Asked before Spark starts: a topic that is not there shall not cost ten seconds."""
        from tidelog.blocking.cluster import Cluster
        from tidelog.spark.source.options import read_source_options

        given = {"kafka.bootstrap.servers": sync.brokers, "subscribe": sync.topic, **sync.client}
        given.setdefault("kafka.default.api.timeout.ms", str(int(self.session.timeout_s * 1000)))
        with Cluster(read_source_options(given, is_stream=True).cluster) as cluster:
            topic = cluster.topics([sync.topic]).get(sync.topic)
        if topic is None:
            raise CliError(
                f"There is no topic '{sync.topic}'.", attempt="tidelog topic list", code=Exit.NOT_FOUND
            )
        return topic.id.hex()

    def _with_spark(self, sync: "Sync", topic_id: str) -> int:
        from tidelog.spark.lake.sync import build_sync, open_synced_table

        began = time.monotonic()
        self.view.say("Starting Spark…", event="starting", topic=sync.topic)
        spark = self._spark()
        self._stop.listen()  # Spark has put its own in their place
        try:
            built = build_sync(spark, sync)
            table = open_synced_table(sync, built.queries[0].frame)
            claim(
                self.checkpoint,
                table.storage,
                Claim(topic=sync.topic, topic_id=topic_id, table=sync.path, table_id=table.identity),
            )
            outcome = "stopped" if self._stop.is_set else self._until_done(spark, sync, built)
        finally:
            spark.stop()
        self._sum_up(sync, outcome, time.monotonic() - began)
        return Exit.OK

    def _spark(self) -> "SparkSession":
        request = self.request
        settings = {**RECENT, **request.settings}
        log = self.checkpoint / SPARK_LOG
        name = f"tidelog lake sync {request.topic}"
        return spark_session(name, master=request.master, settings=settings, log_file=log)

    def _until_done(self, spark: "SparkSession", sync: "Sync", built: "Build") -> str:
        from tidelog.spark.lake.sync import build_sync
        from tidelog.spark.pipeline.run import PipelineFailed, Run

        run = Run(
            str(self.checkpoint),
            once=self.request.every is None,
            show=self.view.rows,
            note=lambda text: self.view.say(f"Note: {text}", event="note", note=text),
            rebuild=lambda: build_sync(spark, replace(sync, decoding=self._decoding())),
        )
        try:
            run.start(built)
            self.view.begin()
            return run.until_done(lambda: self._stop.is_set, self._report).value
        except PipelineFailed as error:
            raise CliError(
                f"{_sentence(error)}",
                cause=f"Spark's log may say more: {self.checkpoint / SPARK_LOG}",
                attempt="run the same command again once the cause is gone: it resumes from the checkpoint",
            ) from error
        finally:
            self.view.end()

    def _report(self, found: "list[QueryProgress]") -> None:
        self._done = found
        self._metrics.take(found)
        self.view.progress(found)

    def _sum_up(self, sync: "Sync", outcome: str, took_s: float) -> None:
        rows = {query.name: query.rows for query in self._done}
        records = rows.get("table", 0)
        things = "record" if records == 1 else "records"
        others = (
            f" Those that do not decode are in '{sync.source.dead_letter}'." if "dead-letter" in rows else ""
        )
        text = f"Synced {records:,} {things} of '{sync.topic}' to {sync.path} in {took_s:.1f} s.{others}"
        facts = {"topic": sync.topic, "table": sync.path, "format": sync.table_format, "records": records}
        self.view.say(text, event=outcome, **facts, seconds=round(took_s, 1))


@contextmanager
def _as_refusals() -> "Iterator[None]":
    """Errors that say what to do, as errors of the command line."""
    from tidelog.spark.lake.errors import SchemaMismatch
    from tidelog.spark.values.errors import BadSchema

    try:
        yield
    except CliError:
        raise
    except SyncRefused as error:
        raise CliError(
            f"{_sentence(error)}.",
            attempt="another --to and --checkpoint, or remove the table and the checkpoint to start over",
            code=Exit.REFUSED,
        ) from error
    except SchemaMismatch as error:
        raise CliError(
            f"The table cannot take these columns: {error}.",
            attempt="another --to, or the schema that the table was made with",
            code=Exit.REFUSED,
        ) from error
    except (OptionError, BadSchema, ValueError) as error:
        raise CliError(f"{_sentence(error)}.", code=Exit.USAGE) from error
    except BrokersUnreachable as error:
        raise CliError(
            f"{_sentence(error)}.", attempt="tidelog cluster status", code=Exit.UNREACHABLE
        ) from error
    except SparkMissing as error:
        raise CliError(str(error), attempt="pip install 'tidelog[spark]'") from error
    except KafkaError as error:
        raise CliError(f"{error}.", code=Exit.REFUSED) from error
    except TidelogError as error:
        raise CliError(f"{_sentence(error)}.") from error


def _kind(request: SyncRequest) -> str:
    """As asked for, else by what the schema looks like."""
    if request.decode is not None:
        return request.decode
    name = (request.schema or "").lower()
    if name.endswith(".avsc"):
        return "avro"
    return "protobuf" if request.message is not None else "json"


def _checkpoint(request: SyncRequest) -> Path:
    given = request.checkpoint
    if given is None:
        if "://" in request.path:
            raise CliError(
                "A table that is not on this machine needs --checkpoint DIR, a directory that is.",
                code=Exit.USAGE,
            )
        return (Path(request.path) / CHECKPOINT).resolve()
    return Path(given).resolve()


def _sentence(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text[:1].upper() + text[1:]
