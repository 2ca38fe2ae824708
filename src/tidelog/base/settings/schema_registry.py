"""The schema registry over HTTP: where it is served, to which clients, and within which limits."""

from tidelog.base.config.setting import Dynamic, Importance, Kind, Setting, Unit

FREE_PORT = -1

SETTINGS = (
    Setting(
        "schema.registry.port",
        Kind.INT,
        0,
        "The port that serves the schema registry over HTTP, with the API of Confluent's Schema Registry. "
        "Usually 8081. Any broker takes a call, and the leader of the topic `_schemas` answers it: so either "
        "all brokers of a cluster have the port, or none. While it is 0, `_schemas` is a topic like any "
        "other, which clients may write.",
        minimum=FREE_PORT,
        maximum=65535,
        importance=Importance.HIGH,
        special="0: no such port; -1: a free one",
        ours=True,
    ),
    Setting(
        "schema.registry.host",
        Kind.STRING,
        "localhost",
        "The address that `schema.registry.port` listens on. `0.0.0.0` means every interface. The default "
        "serves this machine only: without `schema.registry.authentication`, every client that reaches the "
        "port may do what `User:ANONYMOUS` may.",
        importance=Importance.HIGH,
        ours=True,
    ),
    Setting(
        "schema.registry.security.protocol",
        Kind.ENUM,
        "PLAINTEXT",
        "Whether `schema.registry.port` speaks TLS (SSL), with the broker's certificate in "
        "`ssl.keystore.location`. With `ssl.client.auth=required` clients need a certificate.",
        choices=("PLAINTEXT", "SSL"),
        ours=True,
    ),
    Setting(
        "schema.registry.authentication",
        Kind.LIST,
        (),
        "How clients of the schema registry authenticate: BASIC with the name and password of a SCRAM user, "
        "BEARER with an OAuth token, or either where both are named. Both are sent as they are: use TLS.",
        choices=("BASIC", "BEARER"),
        importance=Importance.MEDIUM,
        special="empty: they do not, and are `User:ANONYMOUS`",
        ours=True,
    ),
    Setting(
        "schema.registry.request.max.bytes",
        Kind.INT,
        1024 * 1024,
        "The largest body of a call of the schema registry. A schema beyond it is refused before it is read. "
        "The default is that of Confluent's registry. To register a schema of 4 MiB holds up the event loop "
        "for some 50 ms.",
        minimum=1024,
        maximum=64 * 1024 * 1024,
        unit=Unit.BYTES,
        ours=True,
    ),
    Setting(
        "schema.registry.max.connections",
        Kind.INT,
        256,
        "The number of connections that `schema.registry.port` serves at a time; a host gets half of them. "
        "Beyond it, a connection that waits for its next request makes room, or the new one is refused.",
        minimum=2,
        ours=True,
    ),
    Setting(
        "schema.registry.topic.replication.factor",
        Kind.SHORT,
        -1,
        "The replication factor of `_schemas` when it is created, with the first schema or setting.",
        minimum=-1,
        special="-1: three, or as many brokers as there are",
        ours=True,
    ),
)

_STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
_CLASSES = tuple(f"io.confluent.kafka.serializers.subject.{name}" for name in _STRATEGIES)


def _checked(side: str) -> tuple[Setting, Setting]:
    return (
        Setting(
            f"confluent.{side}.schema.validation",
            Kind.BOOL,
            False,
            f"Whether the {side} of each record has to name a schema of this cluster's registry, by an id "
            "or a GUID in front or in a header. A record is refused (INVALID_RECORD) if the schema is not "
            f"known, or not registered under the subject of `confluent.{side}.subject.name.strategy`. A "
            f"{side} that is null is not checked. Needs `schema.registry.port` on every broker.",
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
        Setting(
            f"confluent.{side}.subject.name.strategy",
            Kind.ENUM,
            _CLASSES[0],
            f"Under which subject the schema of a {side} has to be registered, while "
            f"`confluent.{side}.schema.validation` is on: `<topic>-{side}`, the name of the record, or "
            "`<topic>-<name of the record>`. Producers have a setting of the same name.",
            choices=(*_CLASSES, *_STRATEGIES),
            dynamic=Dynamic.CLUSTER_WIDE,
        ),
    )


TOPIC_ONLY = (*_checked("key"), *_checked("value"))
