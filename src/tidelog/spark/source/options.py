"""What `spark.read` and `spark.readStream` take: the options of Spark's own Kafka source, and a few of ours.

`read_source_options` gives them checked and resolved as far as can be without a broker.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.settings import ClusterSettings
from tidelog.spark.connection_options import CONNECTION, WITHOUT_MEANING_HERE, cluster_settings
from tidelog.spark.errors import OptionError
from tidelog.spark.options import Given, Kind, Option, OptionTable
from tidelog.spark.records.engines import AUTO, ENGINES
from tidelog.spark.source.positions import Position, ending_position, starting_position

_EXACTLY_ONE = ("subscribe", "subscribePattern", "assign")

SOURCE = (
    Option("subscribe", "topics to read, with commas between them"),
    Option("subscribePattern", "a regular expression; topics whose whole name it matches are read"),
    Option("assign", 'partitions to read, as JSON: {"events":[0,1]}', Kind.JSON),
    Option(
        "startingOffsets", "where to begin: earliest, latest, or offsets as JSON (-2 earliest, -1 latest)"
    ),
    Option("endingOffsets", "where a batch ends: latest, or offsets as JSON (-1 latest)"),
    Option(
        "startingTimestamp", "begin at the first record of this time or later, in ms", Kind.INT, minimum=0
    ),
    Option("endingTimestamp", "end a batch before the first record of this time, in ms", Kind.INT, minimum=0),
    Option("startingOffsetsByTimestamp", "as startingTimestamp, for each partition, as JSON", Kind.JSON),
    Option("endingOffsetsByTimestamp", "as endingTimestamp, for each partition, as JSON", Kind.JSON),
    Option(
        "startingOffsetsByTimestampStrategy",
        "where no record is as late as the starting time: fail, or begin at the end",
        default="error",
        choices=("error", "latest"),
    ),
    Option("maxOffsetsPerTrigger", "most offsets in a micro-batch, over all partitions", Kind.INT, minimum=1),
    Option("minOffsetsPerTrigger", "fewest offsets that start a micro-batch", Kind.INT, minimum=1),
    Option("maxTriggerDelay", "how long fewer may wait", Kind.DURATION, 15 * 60_000, minimum=0),
    Option("minPartitions", "fewest tasks to read with; large ranges are split", Kind.INT, minimum=1),
    Option("maxRecordsPerPartition", "most offsets that one task reads", Kind.INT, minimum=1),
    Option("minRecordsPerTask", "small partitions share a task up to this", Kind.INT, 20_000, minimum=0),
    Option("failOnDataLoss", "whether the query fails when records it should read are gone", Kind.BOOL, True),
    Option("includeHeaders", "add the column headers", Kind.BOOL, False),
    Option("groupIdPrefix", "accepted; the source is no member of a group", default="spark-kafka-source"),
    Option("kafka.group.id", "the group whose offsets show the query's progress, with commitOffsets"),
    Option("commitOffsets", "publish the query's progress as offsets of kafka.group.id", Kind.BOOL, False),
    Option(
        "kafka.isolation.level",
        "read_committed leaves out aborted transactions, and those that are open",
        default="read_uncommitted",
        choices=("read_uncommitted", "read_committed"),
    ),
    Option(
        "fetchOffset.numRetries", "how often ends that went backwards are asked for again", Kind.INT, 3, 0
    ),
    Option("fetchOffset.retryIntervalMs", "the pause between", Kind.DURATION, 10, 0),
    Option("kafkaConsumer.pollTimeoutMs", "how long a task waits for records", Kind.DURATION, 120_000, 1),
    Option("kafka.max.partition.fetch.bytes", "of one partition at a time", Kind.INT, 4 << 20, 1),
    Option("kafka.fetch.max.bytes", "of all partitions at a time", Kind.INT, 8 << 20, 1),
    Option("kafka.fetch.max.wait.ms", "how long a broker may wait for records", Kind.DURATION, 500, 0),
    Option("kafka.fetch.min.bytes", "accepted; a task reads what is there already", Kind.INT, 1, 0),
    Option(
        "read.path",
        "segments: tasks that see the brokers' log dirs read sealed segments there themselves",
        default="network",
        choices=("network", "segments"),
    ),
    Option(
        "read.as",
        "table: only the latest record of each key in each partition, looked for anew whenever tasks run",
        default="records",
        choices=("records", "table"),
    ),
    Option("read.dirs", "where those log dirs are, separated by commas; without it, brokers are asked"),
    Option(
        "decoder",
        "what decodes records: numba where it is installed, or numpy",
        default=AUTO,
        choices=ENGINES,
    ),
)

_DECODED_BY_SPARK = "keys and values are bytes; cast or decode them with DataFrame functions"
REFUSED = {
    "path": "name topics with subscribe, subscribePattern or assign",
    "kafka.auto.offset.reset": "use startingOffsets; Spark keeps the offsets, not the client",
    "kafka.enable.auto.commit": "the checkpoint keeps the offsets; commitOffsets can publish them",
    "kafka.interceptor.classes": "Java classes cannot run in a Python source",
    "kafka.key.deserializer": _DECODED_BY_SPARK,
    "kafka.value.deserializer": _DECODED_BY_SPARK,
}

TABLE = OptionTable.of(CONNECTION, WITHOUT_MEANING_HERE, SOURCE, refused=REFUSED)


@dataclass(frozen=True)
class Subscription:
    """Exactly one of the three is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()

    def __str__(self) -> str:
        if self.pattern is not None:
            return f"subscribePattern {self.pattern}"
        return ", ".join(self.topics) or ", ".join(map(str, self.partitions))


@dataclass(frozen=True)
class SourceOptions:
    cluster: ClusterSettings
    subscription: Subscription
    starting: Position
    ending: Position
    rows_max: int | None
    rows_min: int | None
    trigger_delay_max_ms: int
    tasks_min: int | None
    task_rows_max: int | None
    task_rows_min: int
    fail_on_data_loss: bool
    read_committed: bool
    group: str | None
    """Whose offsets publish the progress."""
    offset_retries: int
    offset_retry_ms: int
    poll_timeout_ms: int
    fetch_bytes_max: int
    partition_bytes_max: int
    fetch_wait_ms: int
    reads_segments: bool = False
    log_dirs: tuple[str, ...] = ()
    decoder: str = AUTO
    is_table: bool = False


def read_source_options(options: Mapping[str, str], *, is_stream: bool) -> SourceOptions:
    given = TABLE.read(options)
    _check_kind_of_query(given, is_stream)
    rows_max, rows_min = given.number("maxOffsetsPerTrigger"), given.number("minOffsetsPerTrigger")
    if rows_max is not None and rows_min is not None and rows_min > rows_max:
        raise OptionError(f"minOffsetsPerTrigger is {rows_min}, and maxOffsetsPerTrigger only {rows_max}")
    return SourceOptions(
        cluster=cluster_settings(given),
        subscription=subscription_of(given),
        starting=starting_position(given, is_stream),
        ending=ending_position(given),
        rows_max=rows_max,
        rows_min=rows_min,
        trigger_delay_max_ms=given["maxTriggerDelay"],
        tasks_min=given.number("minPartitions"),
        task_rows_max=given.number("maxRecordsPerPartition"),
        task_rows_min=given["minRecordsPerTask"],
        fail_on_data_loss=given.flag("failOnDataLoss"),
        read_committed=given["kafka.isolation.level"] == "read_committed",
        group=given.required("kafka.group.id") if given.flag("commitOffsets") else None,
        offset_retries=given["fetchOffset.numRetries"],
        offset_retry_ms=given["fetchOffset.retryIntervalMs"],
        poll_timeout_ms=given["kafkaConsumer.pollTimeoutMs"],
        fetch_bytes_max=given["kafka.fetch.max.bytes"],
        partition_bytes_max=given["kafka.max.partition.fetch.bytes"],
        fetch_wait_ms=given["kafka.fetch.max.wait.ms"],
        reads_segments=given["read.path"] == "segments",
        log_dirs=tuple(filter(None, map(str.strip, (given["read.dirs"] or "").split(",")))),
        decoder=given["decoder"],
        is_table=given["read.as"] == "table",
    )


def subscription_of(given: Given) -> Subscription:
    ways = [name for name in _EXACTLY_ONE if name in given]
    if len(ways) != 1:
        said = " and ".join(ways) + " are given" if ways else "none is given"
        raise OptionError(f"exactly one of {', '.join(_EXACTLY_ONE)} must be set; {said}")
    if ways[0] == "assign":
        return Subscription(partitions=_assigned(given["assign"]))
    if ways[0] == "subscribePattern":
        pattern = given.required("subscribePattern")
        try:
            re.compile(pattern)
        except re.error as error:
            raise OptionError(f"subscribePattern {pattern!r} is no regular expression: {error}") from None
        return Subscription(pattern=pattern)
    topics = tuple(
        dict.fromkeys(name.strip() for name in given.required("subscribe").split(",") if name.strip())
    )
    if not topics:
        raise OptionError("subscribe names no topic")
    return Subscription(topics=topics)


def _assigned(value: Any) -> tuple[TopicPartition, ...]:
    try:
        found = [TopicPartition(topic, int(index)) for topic, indexes in value.items() for index in indexes]
    except (AttributeError, TypeError, ValueError):
        found = []
    if not found or min(index for _, index in found) < 0:
        raise OptionError(f'assign must be JSON as {{"events":[0,1]}}, not {value!r}')
    return tuple(sorted(set(found)))


def _check_kind_of_query(given: Given, is_stream: bool) -> None:
    ends = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
    limits = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "commitOffsets")
    if is_stream and given["read.as"] == "table":
        raise OptionError("read.as=table is for spark.read: a stream has every record")
    for name in ends if is_stream else limits:
        if name in given:
            kind = "a stream has no end" if is_stream else "only a stream has micro-batches"
            raise OptionError(f"option {name} cannot be set here: {kind}")
