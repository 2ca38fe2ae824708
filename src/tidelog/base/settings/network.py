"""Listeners, connections and the limits that keep a flood of requests from taking the broker's memory."""

from tidelog.base.config.setting import INT_MAX, Dynamic, Importance, Kind, Setting, Unit, Value
from tidelog.base.listener import check_advertised, check_listeners


def _check_buffer(value: Value) -> str | None:
    return "0 is not a buffer size; use -1 for the system's default" if value == 0 else None


SETTINGS = (
    Setting(
        "listeners",
        Kind.LIST,
        ("PLAINTEXT://localhost:9092",),
        "Where the broker waits for clients, as `NAME://host:port`. Port 0 takes a free port. `0.0.0.0` "
        "or no host means every interface; then `advertised.listeners` must say how clients get here. "
        "The default serves this machine alone, since anyone who can connect can read and write.",
        importance=Importance.HIGH,
        kafka_default="PLAINTEXT://:9092",
        check=check_listeners,
    ),
    Setting(
        "advertised.listeners",
        Kind.LIST,
        None,
        "The addresses that clients are told to connect to, by listener name, where they differ from "
        "`listeners`: behind a proxy, in a container, or when listening on every interface.",
        importance=Importance.HIGH,
        special="not set: as in listeners",
        check=check_advertised,
    ),
    Setting(
        "socket.request.max.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The largest request. A longer one is refused as soon as its length is read, and the connection "
        "closed.",
        minimum=1,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
    Setting(
        "socket.send.buffer.bytes",
        Kind.INT,
        -1,
        "The kernel's send buffer of a connection (SO_SNDBUF). Left at -1 the kernel sizes it as needed.",
        minimum=-1,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
        special="-1: the system's default",
        kafka_default="102400",
        check=_check_buffer,
    ),
    Setting(
        "socket.receive.buffer.bytes",
        Kind.INT,
        -1,
        "The kernel's receive buffer of a connection (SO_RCVBUF). Left at -1 the kernel sizes it as needed.",
        minimum=-1,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
        special="-1: the system's default",
        kafka_default="102400",
        check=_check_buffer,
    ),
    Setting(
        "socket.listen.backlog.size",
        Kind.INT,
        1024,
        "How many new connections may wait in the kernel to be accepted. The system's own limit "
        "(`somaxconn`) also bounds it.",
        minimum=1,
        kafka_default="50",
    ),
    Setting(
        "max.connections",
        Kind.INT,
        INT_MAX,
        "The most connections at one time. One more is closed at once. The system's limit of open files "
        "(`ulimit -n`) also bounds it.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "max.connections.per.ip",
        Kind.INT,
        INT_MAX,
        "The most connections from one address at one time. One more is closed at once.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "connections.max.idle.ms",
        Kind.LONG,
        600_000,
        "A connection without a request, and without one being answered, for this long is closed.",
        minimum=-1,
        unit=Unit.MILLISECONDS,
        special="-1: never",
    ),
    Setting(
        "connections.half.frame.timeout.ms",
        Kind.LONG,
        30_000,
        "A connection that has sent a part of a request and then nothing for this long is closed; so is one "
        "that has waited as long for memory for the rest of it.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "connections.unread.answer.timeout.ms",
        Kind.LONG,
        30_000,
        "A connection that has taken no byte of an answer that waits for it for this long is closed.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "queued.max.request.bytes",
        Kind.LONG,
        256 * 1024 * 1024,
        "The memory that requests may hold in total, from their first byte to their answer. At the limit "
        "the broker stops reading from the connections until some are answered.",
        minimum=-1,
        unit=Unit.BYTES,
        special="-1: no limit",
        kafka_default="-1",
    ),
    Setting(
        "max.in.flight.requests.per.connection",
        Kind.INT,
        100,
        "How many requests of one connection may be under way; the next is not read until one is "
        "answered. Answers go out in the order of the requests.",
        minimum=1,
        ours=True,
    ),
    Setting(
        "fetch.max.bytes",
        Kind.INT,
        55 * 1024 * 1024,
        "The most bytes of records in one fetch answer, whatever the client asks for. The first batch is "
        "always sent whole, so that a consumer can go on.",
        minimum=1024,
        unit=Unit.BYTES,
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        Kind.INT,
        1000,
        "How many incremental fetch sessions the broker keeps. A client without one sends its whole list "
        "of partitions with every fetch.",
        minimum=0,
        special="0: no sessions",
    ),
    Setting(
        "min.incremental.fetch.session.eviction.ms",
        Kind.LONG,
        120_000,
        "When the cache is full, a fetch session that was idle for this long may be dropped for a new one.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        ours=True,
    ),
)
