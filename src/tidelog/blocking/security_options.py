"""The `security.*`, `ssl.*` and `sasl.*` options of a client as one `Security`.

The names of the Java client and those of librdkafka are both understood. Keys and certificates are PEM or
PKCS12; Java's own JKS stores cannot be read from Python, and are refused with the command that converts them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.blocking.errors import SecurityError
from tidelog.blocking.security import Sasl, Security, Tls

if TYPE_CHECKING:
    from tidelog.security.sasl.jaas import LoginModule

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


def security_of(options: Mapping[str, str], option_prefix: str = "") -> Security:
    """Reads options whose names have lost their prefix; errors put it before the names again."""
    protocol = protocol_of(options, option_prefix)
    return Security(
        tls=tls_of(options, option_prefix) if protocol.endswith("SSL") else None,
        sasl=_sasl_of(options, option_prefix) if protocol.startswith("SASL") else None,
        option_prefix=option_prefix,
    )


def protocol_of(options: Mapping[str, str], option_prefix: str = "") -> str:
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SecurityError(
            f"{option_prefix}security.protocol is {protocol}; it can be {', '.join(PROTOCOLS)}"
        )
    return protocol


def check_names(options: Mapping[str, str]) -> None:
    """Refuses a protocol or mechanism that does not exist, without a look at files or secrets."""
    if "${" not in options.get("security.protocol", ""):
        protocol_of(options)
    mechanism = _mechanism(options)
    if "${" not in mechanism and mechanism not in (*MECHANISMS, "GSSAPI"):
        raise _unknown_mechanism(mechanism, "")


def _mechanism(options: Mapping[str, str]) -> str:
    return (options.get("sasl.mechanism") or options.get("sasl.mechanisms") or "GSSAPI").upper()


def _unknown_mechanism(mechanism: str, prefix: str) -> SecurityError:
    return SecurityError(
        f"SASL mechanism {mechanism} is not supported; set {prefix}sasl.mechanism to "
        f"{' or '.join(MECHANISMS)}"
    )


def tls_of(options: Mapping[str, str], prefix: str) -> Tls:
    from tidelog.blocking.stores import key_store, trust_store

    trusted, own = trust_store(options, prefix), key_store(options, prefix)
    return Tls(
        ca_file=trusted.file or options.get("ssl.ca.location"),
        ca_text=trusted.text or options.get("ssl.ca.pem"),
        certificate_file=own.file or options.get("ssl.certificate.location"),
        key_file=own.file or options.get("ssl.key.location"),
        certificate_text=own.text or options.get("ssl.certificate.pem"),
        key_text=own.key or options.get("ssl.key.pem"),
        key_password=options.get("ssl.key.password"),
        check_hostname=options.get("ssl.endpoint.identification.algorithm", "https").lower() == "https",
        check_certificate=options.get("enable.ssl.certificate.verification", "true").lower() != "false",
    )


def _sasl_of(options: Mapping[str, str], prefix: str) -> Sasl:
    mechanism = _mechanism(options)
    if mechanism not in MECHANISMS:
        raise _unknown_mechanism(mechanism, prefix)
    login = login_module(options, prefix)
    jaas = dict(login.options) if login is not None else {}
    username = (
        options.get("sasl.username") or options.get("sasl.oauthbearer.client.id")
        or jaas.get("username") or jaas.get("clientId", "")
    )  # fmt: skip
    password = (
        options.get("sasl.password") or options.get("sasl.oauthbearer.client.secret")
        or jaas.get("password") or jaas.get("clientSecret", "")
    )  # fmt: skip
    token = options.get("sasl.oauthbearer.token")
    endpoint = options.get("sasl.oauthbearer.token.endpoint.url")
    if mechanism == "OAUTHBEARER" and token is None and endpoint is None:
        raise SecurityError(
            f"OAUTHBEARER needs {prefix}sasl.oauthbearer.token, or "
            f"{prefix}sasl.oauthbearer.token.endpoint.url with clientId and clientSecret in "
            f"{prefix}sasl.jaas.config"
        )
    if mechanism != "OAUTHBEARER" and not username:
        raise SecurityError(
            f"SASL {mechanism} needs a user: set {prefix}sasl.jaas.config, or {prefix}sasl.username and "
            f"{prefix}sasl.password"
        )
    extensions = {name: value for name, value in jaas.items() if name.startswith("extension_")}
    return Sasl(
        mechanism,
        username,
        password,
        token,
        endpoint,
        options.get("sasl.oauthbearer.scope") or jaas.get("scope"),
        tuple((name.removeprefix("extension_"), value) for name, value in extensions.items()),
        is_token=login is not None and login.is_token,
    )


def login_module(options: Mapping[str, str], prefix: str = "") -> "LoginModule | None":
    """Of `sasl.jaas.config`; None where it is not set."""
    text = options.get("sasl.jaas.config", "").strip()
    if not text:
        return None
    from tidelog.security.sasl.jaas import JaasError, parse_jaas

    # Some vendors' Spark has Kafka's classes under names of its own.
    text = text.replace("kafkashaded.org.apache.", "org.apache.")
    try:
        return parse_jaas(text if text.endswith(";") else f"{text};")
    except JaasError as error:
        raise SecurityError(f"{prefix}{error}") from None
