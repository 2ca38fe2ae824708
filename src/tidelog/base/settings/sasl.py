"""Authentication by SASL: mechanisms, users, tokens of identity providers, and delegation tokens."""

from urllib.parse import urlsplit

from tidelog.base.config.setting import LONG_MAX, Importance, Kind, Scope, Setting, Unit, Value
from tidelog.base.security_protocol import SASL_MECHANISMS


def _check_mechanisms(value: Value) -> str | None:
    return None if value else "name at least one mechanism"


def _check_url(value: Value) -> str | None:
    if not value:
        return None
    scheme, host, path, *_ = urlsplit(str(value))
    if scheme == "file" and path.startswith("/") and not host:
        return None
    if scheme in ("https", "http") and host:
        return None
    return "expected https://host/path or file:///absolute/path"


SETTINGS = (
    Setting(
        "sasl.enabled.mechanisms",
        Kind.LIST,
        ("SCRAM-SHA-256", "SCRAM-SHA-512"),
        "The SASL mechanisms that a listener with SASL_SSL or SASL_PLAINTEXT offers. PLAIN and OAUTHBEARER "
        "send a password or a token as it is: offer them with SASL_SSL.",
        choices=SASL_MECHANISMS,
        importance=Importance.HIGH,
        kafka_default="GSSAPI",
        check=_check_mechanisms,
        scope=Scope.LISTENER,
    ),
    Setting(
        "sasl.mechanism.inter.broker.protocol",
        Kind.ENUM,
        "SCRAM-SHA-256",
        "The SASL mechanism with which this broker logs in at other brokers, as the user of its "
        "`sasl.jaas.config`.",
        choices=SASL_MECHANISMS,
        kafka_default="GSSAPI",
    ),
    Setting(
        "sasl.jaas.config",
        Kind.PASSWORD,
        None,
        "A login module in Kafka's form, such as `org.apache.kafka.common.security.scram.ScramLoginModule "
        'required username="broker" password="...";`. As its `username` this broker logs in at others. '
        "Brokers accept that user on the inter-broker listener by this very text, so they can meet before "
        "there is any metadata: give all brokers the same one. `user_<name>` options of a PlainLoginModule "
        "are further users for PLAIN.",
        special="not set: no such users",
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.users.file",
        Kind.STRING,
        "",
        "A file of users and hashed passwords, for SCRAM and PLAIN beside the users in the metadata. Each "
        "line is `name:SCRAM-SHA-256$iterations:salt$stored key:server key`, in Base64. The broker reads it "
        "again when it changes.",
        ours=True,
        scope=Scope.LISTENER,
    ),
    Setting(
        "sasl.server.max.receive.size",
        Kind.INT,
        524_288,
        "The maximum size of a request before its connection is authenticated.",
        minimum=1,
        unit=Unit.BYTES,
    ),
    Setting(
        "connections.max.reauth.ms",
        Kind.LONG,
        0,
        "How long a client may go on before it must authenticate again on the same connection (KIP-368). The "
        "end of its token is a limit too. The broker closes a connection that goes on without.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        special="0: as long as its token is valid, or for ever",
        scope=Scope.MECHANISM,
    ),
    Setting(
        "connections.authentication.timeout.ms",
        Kind.LONG,
        30_000,
        "The broker closes a connection that is not authenticated after this long.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "connection.failed.authentication.delay.ms",
        Kind.INT,
        100,
        "The broker answers a failed authentication after this long at the earliest, and in steps of it, so "
        "that the time says nothing about the cause. Then it closes the connection.",
        minimum=0,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
    Setting(
        "sasl.oauthbearer.jwks.endpoint.url",
        Kind.STRING,
        "",
        "The keys (JWKS) with which the identity provider signs tokens for OAUTHBEARER: `https://...`, or "
        "`file:///...` for a file that the broker reads again with every refresh.",
        check=_check_url,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        Kind.LONG,
        3_600_000,
        "How old the keys may become before the broker reads them again. A token with an unknown key id also "
        "makes it read them again, at most once in ten seconds.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        Kind.LONG,
        100,
        "The first pause after the keys could not be read; every further failure doubles it.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        Kind.LONG,
        10_000,
        "The longest pause after the keys could not be read.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.expected.issuer",
        Kind.STRING,
        "",
        "The issuer (`iss`) that a token must name.",
        special="empty: any",
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.expected.audience",
        Kind.LIST,
        (),
        "Audiences (`aud`), of which a token must name one.",
        special="empty: any",
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.required.scopes",
        Kind.LIST,
        (),
        "Scopes that a token must carry, all of them.",
        importance=Importance.LOW,
        ours=True,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.scope.claim.name",
        Kind.STRING,
        "scope",
        "The claim of a token that lists its scopes.",
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.sub.claim.name",
        Kind.STRING,
        "sub",
        "The claim of a token that names the user.",
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "sasl.oauthbearer.clock.skew.seconds",
        Kind.INT,
        30,
        "How far the clocks of the identity provider and of this broker may differ.",
        minimum=0,
        maximum=3600,
        importance=Importance.LOW,
        scope=Scope.MECHANISM,
    ),
    Setting(
        "delegation.token.secret.key",
        Kind.PASSWORD,
        None,
        "The secret of which delegation tokens (KIP-48) are made, the same on all brokers. A new one makes "
        "all tokens invalid.",
        special="not set: no delegation tokens",
    ),
    Setting(
        "delegation.token.max.lifetime.ms",
        Kind.LONG,
        604_800_000,
        "How old a delegation token can become, however often it is renewed.",
        minimum=1,
        maximum=LONG_MAX // 4,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "delegation.token.expiry.time.ms",
        Kind.LONG,
        86_400_000,
        "How long a delegation token is valid before it must be renewed.",
        minimum=1,
        maximum=LONG_MAX // 4,
        unit=Unit.MILLISECONDS,
    ),
    Setting(
        "delegation.token.expiry.check.interval.ms",
        Kind.LONG,
        3_600_000,
        "How often the controller removes delegation tokens that are no longer valid.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        importance=Importance.LOW,
    ),
)
