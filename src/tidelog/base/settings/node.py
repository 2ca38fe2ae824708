"""Who this broker is, where its data lies, and how its process behaves."""

import re

from tidelog.base.config.setting import Importance, Kind, Setting, Unit, Value

_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _check_cluster_id(value: Value) -> str | None:
    if value is not None and not _CLUSTER_ID.fullmatch(str(value)):
        return f"{value!r} is not a cluster id: up to 64 letters, digits, '-' and '_' are wanted"
    return None


def _check_dirs(value: Value) -> str | None:
    return None if value else "at least one log dir is wanted"


SETTINGS = (
    Setting(
        "node.id",
        Kind.INT,
        1,
        "The number by which clients and other brokers know this broker; unique in the cluster. It is "
        "written into every log dir, and a log dir of another node is refused.",
        minimum=0,
        importance=Importance.HIGH,
        kafka_default="none, it must be given",
    ),
    Setting(
        "cluster.id",
        Kind.STRING,
        None,
        "The id of the cluster this broker belongs to. Left out, the first start makes one and keeps it "
        "in the log dirs; given, it must be the one that is kept there.",
        importance=Importance.HIGH,
        special="not set: made at the first start",
        ours=True,
        check=_check_cluster_id,
    ),
    Setting(
        "log.dirs",
        Kind.LIST,
        ("tidelog-data",),
        "The log dirs that hold the partitions. A new partition goes to the log dir with the fewest; a "
        "log dir whose disk fails goes offline and the others go on.",
        importance=Importance.HIGH,
        kafka_default="/tmp/kafka-logs",
        check=_check_dirs,
    ),
    Setting(
        "num.recovery.threads.per.data.dir",
        Kind.INT,
        2,
        "How many partitions of a log dir are recovered at the same time after an unclean stop.",
        minimum=1,
        maximum=256,
        importance=Importance.HIGH,
    ),
    Setting(
        "background.threads",
        Kind.INT,
        10,
        "Threads for what must not block the event loop: fsync, deletion of files, compaction of logs.",
        minimum=1,
        maximum=256,
        importance=Importance.HIGH,
    ),
    Setting(
        "event.loop",
        Kind.ENUM,
        "auto",
        "The event loop that serves the connections. `auto` takes uvloop where it is installed.",
        choices=("auto", "asyncio", "uvloop"),
        importance=Importance.LOW,
        ours=True,
    ),
    Setting(
        "shutdown.grace.ms",
        Kind.LONG,
        10_000,
        "How long a stopping broker waits for the requests it has begun to be answered before it closes "
        "their connections.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "logging.level",
        Kind.ENUM,
        "info",
        "The least severe messages that the broker's own log shows.",
        choices=("debug", "info", "warning", "error"),
        importance=Importance.LOW,
        ours=True,
    ),
    Setting(
        "logging.format",
        Kind.ENUM,
        "text",
        "How the broker's own log is written: `text` for people, `json` with one object a line for machines.",
        choices=("text", "json"),
        importance=Importance.LOW,
        ours=True,
    ),
)
