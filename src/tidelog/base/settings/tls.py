"""TLS: keys, certificates and versions of listeners that speak SSL or SASL_SSL, and of connections between
brokers."""

from collections.abc import Callable

from tidelog.base.config.setting import Dynamic, Importance, Kind, Scope, Setting, Unit, Value
from tidelog.base.security_protocol import PROTOCOL_NAMES

TLS_VERSIONS = ("TLSv1.2", "TLSv1.3")
_STORE_TYPES = ("PEM", "PKCS12")


def _check_store(what: str) -> Callable[[Value], str | None]:
    def check(value: Value) -> str | None:
        if value == "JKS":
            return (
                "only Java reads JKS. Convert the store once, then set PKCS12: keytool -importkeystore "
                f"-srckeystore {what}.jks -destkeystore {what}.p12 -deststoretype PKCS12"
            )
        known = value is None or value in _STORE_TYPES
        return None if known else f"{value!r} is not one of {', '.join(_STORE_TYPES)}"

    return check


def _check_versions(value: Value) -> str | None:
    return "name at least one of TLSv1.2 and TLSv1.3" if not value else None


def _check_protocol(value: Value) -> str | None:
    known = value is None or value in PROTOCOL_NAMES
    return None if known else f"{value!r} is not one of {', '.join(PROTOCOL_NAMES)}"


SETTINGS = (
    Setting(
        "ssl.keystore.type",
        Kind.STRING,
        None,
        "The form of the key store: `PEM`, or `PKCS12`, which needs `pip install 'tidelog[secure]'`. Java's "
        "own form, JKS, must be converted to PKCS12 with `keytool`.",
        special="not set: recognized by its content",
        kafka_default="JKS",
        check=_check_store("keystore"),
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.keystore.location",
        Kind.STRING,
        None,
        "A file with the private key of the broker and its certificate, followed by those of the "
        "authorities between it and the root. The broker reads it again when it changes.",
        importance=Importance.HIGH,
        special="not set: `ssl.keystore.key`",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.keystore.password",
        Kind.PASSWORD,
        None,
        "The password of a PKCS12 key store, or of an encrypted key in a PEM file.",
        importance=Importance.HIGH,
        special="not set: no password",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.key.password",
        Kind.PASSWORD,
        None,
        "The password of an encrypted private key in PEM form.",
        importance=Importance.HIGH,
        special="not set: `ssl.keystore.password`",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.keystore.key",
        Kind.PASSWORD,
        None,
        "The private key itself as PEM text (PKCS#8), in place of a file.",
        importance=Importance.HIGH,
        special="not set: `ssl.keystore.location`",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.keystore.certificate.chain",
        Kind.PASSWORD,
        None,
        "The certificate itself as PEM text, followed by those of the authorities between it and the "
        "root, in place of a file. It belongs to `ssl.keystore.key`.",
        importance=Importance.HIGH,
        special="not set: `ssl.keystore.location`",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.truststore.type",
        Kind.STRING,
        None,
        "The form of the trust store: `PEM`, or `PKCS12`, which needs `pip install 'tidelog[secure]'`.",
        special="not set: recognized by its content",
        kafka_default="JKS",
        check=_check_store("truststore"),
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.truststore.location",
        Kind.STRING,
        None,
        "A file with the certificates of the authorities to trust: for the certificates of clients, and for "
        "those of other brokers. The broker reads it again when it changes.",
        importance=Importance.HIGH,
        special="not set: for other brokers, the authorities that the system trusts",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.truststore.password",
        Kind.PASSWORD,
        None,
        "The password of a PKCS12 trust store.",
        importance=Importance.HIGH,
        special="not set: no password",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.truststore.certificates",
        Kind.PASSWORD,
        None,
        "The certificates of the authorities to trust, as PEM text, in place of a file.",
        importance=Importance.HIGH,
        special="not set: `ssl.truststore.location`",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.client.auth",
        Kind.ENUM,
        "none",
        "Whether a listener asks its clients for a certificate: `required` refuses clients without one, "
        "`requested` accepts them as `User:ANONYMOUS`. On SSL listeners the certificate names the principal; "
        "on SASL_SSL listeners SASL does, and the certificate is a second condition, which must be given "
        "behind the listener's name.",
        choices=("none", "requested", "required"),
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.enabled.protocols",
        Kind.LIST,
        TLS_VERSIONS,
        "The versions of TLS that are spoken. Older versions are broken, and not offered.",
        choices=TLS_VERSIONS,
        check=_check_versions,
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.protocol",
        Kind.ENUM,
        "TLSv1.3",
        "The highest version of TLS to speak, among `ssl.enabled.protocols`.",
        choices=TLS_VERSIONS,
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.cipher.suites",
        Kind.LIST,
        (),
        "The cipher suites of TLS 1.2, under the standard's names or OpenSSL's. Those of TLS 1.3 are all "
        "safe and always offered; a list of these alone turns TLS 1.2 off.",
        importance=Importance.LOW,
        special="not set: OpenSSL's choice",
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.principal.mapping.rules",
        Kind.STRING,
        "DEFAULT",
        "How the subject of a client certificate becomes the name of a user: rules of the form "
        "`RULE:pattern/replacement/` with commas between them, L or U behind the last slash for lower or "
        "upper case. The first rule whose pattern matches the whole subject applies; `DEFAULT` takes the "
        "subject as it is. A client whose subject no rule takes is refused.",
        importance=Importance.LOW,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.endpoint.identification.algorithm",
        Kind.ENUM,
        "https",
        "Whether a broker that connects to another one checks that the certificate is made out to the "
        "host name it connects to. Turn it off only where names cannot be in certificates.",
        choices=("https", ""),
        special="empty: host names are not checked",
        importance=Importance.LOW,
        dynamic=Dynamic.PER_LISTENER,
        scope=Scope.LISTENER,
    ),
    Setting(
        "ssl.handshake.timeout.ms",
        Kind.INT,
        10_000,
        "The broker closes a connection that has not completed its TLS handshake after this long.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
    Setting(
        "security.inter.broker.protocol",
        Kind.STRING,
        None,
        "The protocol that brokers speak with each other: they use the listener that is named as the "
        "protocol. `inter.broker.listener.name` names a listener directly; give only one of the two.",
        check=_check_protocol,
        special="not set: as `inter.broker.listener.name` has it",
        kafka_default="PLAINTEXT",
    ),
)
