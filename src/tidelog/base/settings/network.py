"""Listeners, connections, and the limits that protect the broker's memory."""

from tidelog.base.config.setting import INT_MAX, Dynamic, Importance, Kind, Scope, Setting, Unit, Value
from tidelog.base.listener import check_advertised, check_listeners
from tidelog.base.security_protocol import parse_protocol_map


def _check_buffer(value: Value) -> str | None:
    return "0 is not a buffer size; use -1 for the system's default" if value == 0 else None


def _check_protocols(value: Value) -> str | None:
    try:
        parse_protocol_map(value if isinstance(value, tuple) else ())
    except ValueError as error:
        return str(error)
    return None


SETTINGS = (
    Setting(
        "listeners",
        Kind.LIST,
        ("PLAINTEXT://localhost:9092",),
        "The addresses that the broker listens on, as `NAME://host:port`. Port 0 picks a free port. "
        "`0.0.0.0` or an empty host means every interface; `advertised.listeners` must then name an "
        "address that clients can reach. The default accepts connections from this machine only, since any "
        "client that can connect can read and write.",
        importance=Importance.HIGH,
        kafka_default="PLAINTEXT://:9092",
        check=check_listeners,
    ),
    Setting(
        "advertised.listeners",
        Kind.LIST,
        None,
        "The addresses that clients connect to, by listener name, where they differ from `listeners`: "
        "behind a proxy, in a container, or when the broker listens on every interface.",
        importance=Importance.HIGH,
        special="not set: as in listeners",
        check=check_advertised,
    ),
    Setting(
        "listener.security.protocol.map",
        Kind.LIST,
        (),
        "What each listener demands of its clients, as `NAME:PROTOCOL`: PLAINTEXT, SSL, SASL_PLAINTEXT or "
        "SASL_SSL. A listener that is named as a protocol needs no entry.",
        importance=Importance.HIGH,
        special="not set: by the listeners' names; other names are PLAINTEXT while no listener is secured",
        kafka_default="SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        check=_check_protocols,
    ),
    Setting(
        "socket.request.max.bytes",
        Kind.INT,
        100 * 1024 * 1024,
        "The maximum size of a request. The broker rejects a larger request as soon as it reads the "
        "length, and closes the connection.",
        minimum=1,
        unit=Unit.BYTES,
        importance=Importance.HIGH,
    ),
    Setting(
        "socket.send.buffer.bytes",
        Kind.INT,
        -1,
        "The size of the kernel's send buffer per connection (SO_SNDBUF). With -1 the kernel adjusts it.",
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
        "The size of the kernel's receive buffer per connection (SO_RCVBUF). With -1 the kernel adjusts it.",
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
        "The maximum number of connections that wait in the kernel to be accepted. The system's own limit "
        "(`somaxconn`) also applies.",
        minimum=1,
        kafka_default="50",
    ),
    Setting(
        "max.connections",
        Kind.INT,
        INT_MAX,
        "The maximum number of connections. The broker closes any further connection at once, and "
        "`listener.name.NAME.max.connections` limits one listener beside that. Where brokers have a listener "
        "of their own, it goes on at the limit, and the client that was silent for longest has to go. The "
        "system's limit on open files (`ulimit -n`) also applies.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
        scope=Scope.LISTENER,
    ),
    Setting(
        "max.connections.per.ip",
        Kind.INT,
        INT_MAX,
        "The maximum number of connections from one IP address. The broker closes any further connection "
        "at once.",
        minimum=0,
        dynamic=Dynamic.CLUSTER_WIDE,
    ),
    Setting(
        "connections.max.idle.ms",
        Kind.LONG,
        600_000,
        "The broker closes a connection after this long without a request in progress.",
        minimum=-1,
        unit=Unit.MILLISECONDS,
        special="-1: never",
    ),
    Setting(
        "connections.half.frame.timeout.ms",
        Kind.LONG,
        30_000,
        "The broker closes a connection that has sent part of a request and then nothing for this long, or "
        "whose request has waited this long for memory.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "connections.unread.answer.timeout.ms",
        Kind.LONG,
        30_000,
        "The broker closes a connection whose client has read nothing of a pending response for this long.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "queued.max.request.bytes",
        Kind.LONG,
        256 * 1024 * 1024,
        "The maximum memory for all requests together, from their first byte to their response. At the "
        "limit the broker stops reading from connections until it has answered some requests. Never more "
        "than a quarter of the memory limit of the broker's cgroup, if it has one; "
        "`socket.request.max.bytes` is lowered with it.",
        minimum=-1,
        unit=Unit.BYTES,
        special="-1: no limit",
        kafka_default="-1",
    ),
    Setting(
        "max.in.flight.requests.per.connection",
        Kind.INT,
        100,
        "The maximum number of requests in progress per connection; the broker reads the next one after it "
        "has answered another. Responses leave in the order of the requests.",
        minimum=1,
        ours=True,
    ),
    Setting(
        "fetch.max.bytes",
        Kind.INT,
        55 * 1024 * 1024,
        "The maximum number of bytes of records in a fetch response, whatever the client requests. The "
        "first batch is always complete, so that the consumer makes progress.",
        minimum=1024,
        unit=Unit.BYTES,
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        Kind.INT,
        1000,
        "The maximum number of incremental fetch sessions. A client without a session sends its full list "
        "of partitions with every fetch.",
        minimum=0,
        special="0: no sessions",
    ),
    Setting(
        "min.incremental.fetch.session.eviction.ms",
        Kind.LONG,
        120_000,
        "How long a fetch session must be idle before the broker may evict it for a new one when the cache "
        "is full.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        ours=True,
    ),
)
