"""The identity of this broker, its log dirs, and its process."""

import re

from tidelog.base.config.setting import Dynamic, Importance, Kind, Setting, Unit, Value

AUTO_CORES = "auto"
CORES_MAX = 256
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _check_cluster_id(value: Value) -> str | None:
    if value is not None and not _CLUSTER_ID.fullmatch(str(value)):
        return f"{value!r} is not a cluster id: use up to 64 letters, digits, '-' and '_'"
    return None


def _check_cores(value: Value) -> str | None:
    text = str(value)
    if text == AUTO_CORES or (text.isdecimal() and 1 <= int(text) <= CORES_MAX):
        return None
    return f"{text!r} is neither {AUTO_CORES} nor a number of cores from 1 to {CORES_MAX}"


def _check_dirs(value: Value) -> str | None:
    return None if value else "name at least one log dir"


SETTINGS = (
    Setting(
        "node.id",
        Kind.INT,
        1,
        "The id by which clients and other brokers know this broker; unique in the cluster. The broker "
        "writes it into every log dir and refuses a log dir of another broker.",
        minimum=0,
        importance=Importance.HIGH,
        kafka_default="none, it must be given",
    ),
    Setting(
        "cluster.id",
        Kind.STRING,
        None,
        "The id of the cluster that this broker belongs to. If not set, the first start generates an id "
        "and stores it in the log dirs; if set, it must match the stored id.",
        importance=Importance.HIGH,
        special="not set: generated at the first start",
        ours=True,
        check=_check_cluster_id,
    ),
    Setting(
        "log.dirs",
        Kind.LIST,
        ("tidelog-data",),
        "The directories that hold the partitions. A new partition goes to the log dir with the fewest "
        "partitions. A log dir whose disk fails goes offline; the broker continues to serve the partitions "
        "in the others.",
        importance=Importance.HIGH,
        kafka_default="/tmp/kafka-logs",
        check=_check_dirs,
    ),
    Setting(
        "broker.cores",
        Kind.STRING,
        "1",
        "The number of cores that serve: `tidelog broker` and `tidelog up` run a broker for each, in its own "
        "process, with an id (node.id + 1000 for each further core), ports (each one higher, or 100 higher "
        "under `tidelog up --brokers`) and log dirs (`cores/N` below those of the first). They share a "
        "`broker.machine`. `auto` takes every core that the process may use. A lower number moves the "
        "replicas of the other cores away first.",
        special="auto: all",
        check=_check_cores,
        ours=True,
    ),
    Setting(
        "broker.cores.copy.bytes.per.second",
        Kind.LONG,
        0,
        "The most bytes a second that a core copies from other cores of its machine after a change of "
        "`broker.cores`.",
        minimum=0,
        unit=Unit.BYTES,
        special="0: no limit",
        ours=True,
    ),
    Setting(
        "num.recovery.threads.per.data.dir",
        Kind.INT,
        2,
        "The number of partitions per log dir that are recovered in parallel after an unclean shutdown.",
        minimum=1,
        maximum=256,
        importance=Importance.HIGH,
    ),
    Setting(
        "background.threads",
        Kind.INT,
        10,
        "The number of threads for work that must not block the event loop: fsync, file deletion, log "
        "compaction.",
        minimum=1,
        maximum=256,
        importance=Importance.HIGH,
    ),
    Setting(
        "clock.jump.hold.ms",
        Kind.LONG,
        86_400_000,
        "How long the broker does not believe a system clock that jumped forward by more than a minute. "
        "Meanwhile retention, compaction, committed offsets and transactions keep to the time before the "
        "jump, so that nothing is deleted too early. It ends early when the clock is set back, or with a "
        "restart.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        dynamic=Dynamic.CLUSTER_WIDE,
        special="0: a jump is believed at once",
        ours=True,
    ),
    Setting(
        "event.loop",
        Kind.ENUM,
        "auto",
        "The event loop that serves the connections. `auto` uses uvloop if it is installed.",
        choices=("auto", "asyncio", "uvloop"),
        importance=Importance.LOW,
        ours=True,
    ),
    Setting(
        "produce.compiled",
        Kind.ENUM,
        "auto",
        "Whether plain produce requests take the path that is compiled from C. `auto` uses it if it was "
        "built (`TIDELOG_NATIVE=1 pip install`); with `on` the broker does not start without it.",
        choices=("auto", "off", "on"),
        importance=Importance.LOW,
        ours=True,
    ),
    Setting(
        "shutdown.grace.ms",
        Kind.LONG,
        10_000,
        "How long a stopping broker waits for requests in progress before it closes their connections.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "logging.level",
        Kind.ENUM,
        "info",
        "The lowest severity of messages in the broker's own log.",
        choices=("debug", "info", "warning", "error"),
        importance=Importance.LOW,
        ours=True,
    ),
    Setting(
        "logging.format",
        Kind.ENUM,
        "text",
        "The format of the broker's own log: `text` for people, `json` with one object per line for "
        "machines.",
        choices=("text", "json"),
        importance=Importance.LOW,
        ours=True,
    ),
    Setting(
        "log.slow.requests.ms",
        Kind.INT,
        0,
        "Requests that take longer are logged, each with its client and the parts of its time. Of a fetch "
        "that waits for records, and of a member that waits for its group, only the time counts that the "
        "broker itself spends.",
        unit=Unit.MILLISECONDS,
        minimum=0,
        importance=Importance.LOW,
        special="0: no request is logged for its time",
        ours=True,
    ),
)
