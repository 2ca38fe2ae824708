"""What `df.write` and `df.writeStream` take: the options of Spark's own Kafka sink, and a few of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.blocking.attempts import Limits
from tidelog.blocking.settings import ClusterSettings
from tidelog.spark.connection_options import CONNECTION, WITHOUT_MEANING_HERE, cluster_settings
from tidelog.spark.errors import OptionError
from tidelog.spark.options import Kind, Option, OptionTable
from tidelog.spark.sink.intent_log import TOPIC
from tidelog.spark.sink.outbox import Packing
from tidelog.spark.sink.transactional_ids import PREFIX
from tidelog.spark.sink.two_phase_commit import TwoPhaseCommitSettings
from tidelog.wire.compression import Codec

AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"

SINK = (
    Option("topic", "the topic for all rows; without it each row names its own in the column topic"),
    Option("includeHeaders", "write the column headers, where there is one", Kind.BOOL, True),
    Option(
        "delivery",
        "exactly-once writes in transactions, which the driver commits together",
        default=AT_LEAST_ONCE,
        choices=(AT_LEAST_ONCE, EXACTLY_ONCE),
    ),
    Option("txnAppId", "with exactly-once: names the writer of a batch job, so that it can be repeated"),
    Option("txnVersion", "with txnAppId: the number of this write, higher than those before", Kind.INT),
    Option("transactionalIdPrefix", "what the names of the sink's transactions begin with", default=PREFIX),
    Option("intentsTopic", "where decisions are written; created when it is missing", default=TOPIC),
    Option(
        "lostTransactions",
        "what to do where a decided batch was aborted by its timeout: fail, or skip its rows",
        default="fail",
        choices=("fail", "skip"),
    ),
    Option(
        "kafka.compression.type",
        "how batches are compressed",
        default="none",
        choices=tuple(codec.name.lower() for codec in Codec),
    ),
    Option("kafka.batch.size", "bytes of a batch before compression", Kind.INT, 512 * 1024, 1),
    Option("kafka.delivery.timeout.ms", "how long to try to write a batch", Kind.DURATION, 120_000, 1),
    Option(
        "kafka.transaction.timeout.ms",
        "how long a transaction may stay open; longer than a micro-batch takes",
        Kind.DURATION,
        900_000,
        1,
    ),
)

ALWAYS_SO = tuple(
    Option(f"kafka.{name}", "accepted for jobs that set it; writes are always idempotent, with acks=all")
    for name in (
        "acks", "enable.idempotence", "linger.ms", "buffer.memory", "max.block.ms", "max.request.size",
        "max.in.flight.requests.per.connection", "retries", "partitioner.ignore.keys",
        "partitioner.adaptive.partitioning.enable", "partitioner.availability.timeout.ms",
        "metadata.max.idle.ms",
    )
)  # fmt: skip

OF_SPARK = tuple(
    Option(name, "Spark's own, and no matter here") for name in ("checkpointLocation", "path", "queryName")
)

TABLE = OptionTable.of(
    CONNECTION,
    WITHOUT_MEANING_HERE,
    SINK,
    ALWAYS_SO,
    OF_SPARK,
    refused={
        "kafka.key.serializer": "keys are written as the bytes or text of the column key",
        "kafka.value.serializer": "values are written as the bytes or text of the column value",
        "kafka.interceptor.classes": "interceptors are Java classes, and this sink runs no Java",
        "kafka.partitioner.class": "a partitioner is a Java class; set the column partition instead",
        "kafka.transactional.id": "each task has its own; set transactionalIdPrefix",
    },
)


@dataclass(frozen=True)
class SinkOptions:
    cluster: ClusterSettings
    topic: str | None
    with_headers: bool
    is_exact: bool
    write_name: tuple[str, int] | None
    """(txnAppId and the topic, txnVersion): a job that writes to two topics may call both by one name, as in
    Delta, where a table knows only its own. The slash keeps it from being taken for the id of a query."""
    packing: Packing
    delivery: Limits
    two_phase_commit: TwoPhaseCommitSettings


def read_sink_options(given: Mapping[str, str]) -> SinkOptions:
    options = TABLE.read(given)
    cluster = cluster_settings(options)
    is_exact = options["delivery"] == EXACTLY_ONCE
    codec = Codec[options.required("kafka.compression.type").upper()]
    topic, app, version = options.text("topic"), options.text("txnAppId"), options.number("txnVersion")
    if (app is None) != (version is None):
        raise OptionError("txnAppId and txnVersion must be set together")
    if app is not None and not is_exact:
        raise OptionError(f"txnAppId needs the option delivery to be {EXACTLY_ONCE}")
    return SinkOptions(
        cluster=cluster,
        topic=topic,
        with_headers=options.flag("includeHeaders"),
        is_exact=is_exact,
        write_name=None if app is None or version is None else (f"{app}/{topic or ''}", version),
        packing=Packing(codec, options["kafka.batch.size"]),
        delivery=replace(cluster.limits, total_s=options["kafka.delivery.timeout.ms"] / 1000),
        two_phase_commit=TwoPhaseCommitSettings(
            prefix=options.required("transactionalIdPrefix"),
            topic=options.required("intentsTopic"),
            timeout_ms=options["kafka.transaction.timeout.ms"],
            skip_lost=options["lostTransactions"] == "skip",
        ),
    )
