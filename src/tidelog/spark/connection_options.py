"""The `kafka.*` options that both the source and the sink have: where the brokers are, how to reach them.

Names and meanings are the Java client's, which Spark's own Kafka source passes through. Settings of that
client that have no meaning for this one are accepted, so that a job moves by changing one word. Files of keys
and certificates are read on the driver: executors get their content.
"""

from tidelog.base.variables import Unresolved, machine_sources, resolve
from tidelog.blocking.addresses import host_and_port
from tidelog.blocking.attempts import Limits
from tidelog.blocking.secret_names import is_secret_name
from tidelog.blocking.security_options import MECHANISMS, PROTOCOLS, security_of
from tidelog.blocking.settings import ClusterSettings
from tidelog.spark.errors import OptionError
from tidelog.spark.options import Given, Kind, Option

_MS = Kind.DURATION

CONNECTION = (
    Option("kafka.bootstrap.servers", "brokers to ask first, as host:port,host:port"),
    Option(
        "kafka.client.id", "the name the brokers' logs and quotas know the job by", default="tidelog-spark"
    ),
    Option("kafka.request.timeout.ms", "how long to wait for one answer", _MS, 30_000, 1),
    Option("kafka.default.api.timeout.ms", "how long to try a call, with all retries", _MS, 60_000, 1),
    Option("kafka.socket.connection.setup.timeout.ms", "how long to wait for a connection", _MS, 10_000, 1),
    Option("kafka.retry.backoff.ms", "the pause before the first retry", _MS, 100, 0),
    Option("kafka.retry.backoff.max.ms", "the longest pause between retries", _MS, 1000, 0),
    Option("kafka.security.protocol", "how connections are secured", default="PLAINTEXT", choices=PROTOCOLS),
    Option("kafka.sasl.mechanism", "how the client proves who it is", choices=MECHANISMS),
    Option("kafka.sasl.mechanisms", "the same, as librdkafka spells it", choices=MECHANISMS),
    Option("kafka.sasl.jaas.config", "user and password as Java's login modules take them"),
    Option("kafka.sasl.username", "the user, for PLAIN and SCRAM"),
    Option("kafka.sasl.password", "the password, for PLAIN and SCRAM"),
    Option("kafka.sasl.oauthbearer.token", "a token, for OAUTHBEARER"),
    Option("kafka.sasl.oauthbearer.token.endpoint.url", "where OAUTHBEARER tokens are fetched"),
    Option("kafka.sasl.oauthbearer.client.id", "the client, for tokens that are fetched"),
    Option("kafka.sasl.oauthbearer.client.secret", "its secret"),
    Option("kafka.sasl.oauthbearer.scope", "the scope of tokens that are fetched"),
    Option("kafka.ssl.truststore.location", "a PEM or PKCS12 file of trusted authorities"),
    Option("kafka.ssl.truststore.type", "PEM or PKCS12; Java's own JKS cannot be read", default="PEM"),
    Option("kafka.ssl.truststore.password", "the password of a PKCS12 file"),
    Option("kafka.ssl.truststore.certificates", "trusted authorities as PEM text"),
    Option("kafka.ssl.keystore.location", "a PEM or PKCS12 file with the client's key and certificates"),
    Option("kafka.ssl.keystore.type", "PEM or PKCS12; Java's own JKS cannot be read", default="PEM"),
    Option("kafka.ssl.keystore.password", "the password of a PKCS12 file"),
    Option("kafka.ssl.keystore.key", "the client's key as PEM text"),
    Option("kafka.ssl.keystore.certificate.chain", "the client's certificates as PEM text"),
    Option("kafka.ssl.key.password", "the password of the client's key"),
    Option(
        "kafka.ssl.endpoint.identification.algorithm",
        "https checks host names, empty does not",
        default="https",
    ),
    Option("kafka.enable.ssl.certificate.verification", "false trusts every broker", default="true"),
    Option("kafka.ssl.ca.location", "as kafka.ssl.truststore.location, in librdkafka's name"),
    Option("kafka.ssl.ca.pem", "as kafka.ssl.truststore.certificates, in librdkafka's name"),
    Option("kafka.ssl.certificate.location", "a PEM file with the client's certificates"),
    Option("kafka.ssl.certificate.pem", "as kafka.ssl.keystore.certificate.chain, in librdkafka's name"),
    Option("kafka.ssl.key.location", "a PEM file with the client's key"),
    Option("kafka.ssl.key.pem", "as kafka.ssl.keystore.key, in librdkafka's name"),
)

WITHOUT_MEANING_HERE = tuple(
    Option(f"kafka.{name}", "accepted for jobs that set it; it changes nothing here")
    for name in (
        "allow.auto.create.topics", "check.crcs", "client.dns.lookup", "client.rack",
        "connections.max.idle.ms", "enable.metrics.push", "exclude.internal.topics", "group.instance.id",
        "group.protocol", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records",
        "metadata.max.age.ms",
        "metadata.recovery.strategy", "metric.reporters", "metrics.num.samples", "metrics.recording.level",
        "metrics.sample.window.ms", "partition.assignment.strategy", "receive.buffer.bytes",
        "reconnect.backoff.max.ms", "reconnect.backoff.ms", "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class", "sasl.login.class", "security.providers", "send.buffer.bytes",
        "session.timeout.ms", "socket.connection.setup.timeout.max.ms", "ssl.cipher.suites",
        "sasl.oauthbearer.method", "ssl.enabled.protocols", "ssl.engine.factory.class",
        "ssl.keymanager.algorithm", "ssl.protocol", "ssl.provider", "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    )
)  # fmt: skip


def _resolved(options: dict[str, str]) -> dict[str, str]:
    """Secrets may be variables until here, so that Spark's plans and user interface show variables alone."""
    sources = machine_sources()
    made = dict(options)
    for name, value in options.items():
        if is_secret_name(name):
            try:
                made[name] = resolve(value, sources)
            except Unresolved as error:
                raise OptionError(f"option kafka.{name}: {error}") from None
    return made


def cluster_settings(given: Given) -> ClusterSettings:
    servers = tuple(
        part.strip() for part in given.required("kafka.bootstrap.servers").split(",") if part.strip()
    )
    for server in servers:
        if host_and_port(server) is None or not server.rpartition(":")[2].isdigit():
            raise OptionError(f"kafka.bootstrap.servers holds {server!r}, which is not host:port")
    return ClusterSettings(
        servers,
        security_of(_resolved(given.starting_with("kafka.")), "kafka.").embedded(),
        Limits(
            connect_s=given["kafka.socket.connection.setup.timeout.ms"] / 1000,
            request_s=given["kafka.request.timeout.ms"] / 1000,
            total_s=given["kafka.default.api.timeout.ms"] / 1000,
            pause_s=given["kafka.retry.backoff.ms"] / 1000,
            pause_max_s=given["kafka.retry.backoff.max.ms"] / 1000,
        ),
        given.required("kafka.client.id"),
    )
