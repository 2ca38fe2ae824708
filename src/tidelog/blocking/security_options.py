"""The `security.*`, `ssl.*` and `sasl.*` options of a client as one `Security`.

The names of the Java client and those of librdkafka are both understood. Keys and certificates are PEM;
Java's own key stores cannot be read from Python, and are refused with the command that converts them.
"""

import os
import re
from collections.abc import Mapping

from tidelog.blocking.errors import SecurityError
from tidelog.blocking.security import Sasl, Security, Tls

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_JAAS_ITEM = re.compile(r'([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]+)')


def security_of(options: Mapping[str, str], option_prefix: str = "") -> Security:
    """Reads options whose names have lost their prefix; errors put it before the names again."""
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SecurityError(
            f"{option_prefix}security.protocol is {protocol}; it can be {', '.join(PROTOCOLS)}"
        )
    return Security(
        tls=_tls_of(options, option_prefix) if protocol.endswith("SSL") else None,
        sasl=_sasl_of(options, option_prefix) if protocol.startswith("SASL") else None,
        option_prefix=option_prefix,
    )


def _tls_of(options: Mapping[str, str], prefix: str) -> Tls:
    certificate_file, key_file = options.get("ssl.certificate.location"), options.get("ssl.key.location")
    key_store = _pem_store(options, "keystore", prefix)
    if key_store is not None:
        certificate_file = key_file = key_store  # Kafka's PEM key store is one file with both
    return Tls(
        ca_file=_pem_store(options, "truststore", prefix) or options.get("ssl.ca.location"),
        ca_text=options.get("ssl.truststore.certificates") or options.get("ssl.ca.pem"),
        certificate_file=certificate_file,
        key_file=key_file,
        certificate_text=options.get("ssl.keystore.certificate.chain") or options.get("ssl.certificate.pem"),
        key_text=options.get("ssl.keystore.key") or options.get("ssl.key.pem"),
        key_password=options.get("ssl.key.password"),
        check_hostname=options.get("ssl.endpoint.identification.algorithm", "https").lower() == "https",
        check_certificate=options.get("enable.ssl.certificate.verification", "true").lower() != "false",
    )


def _pem_store(options: Mapping[str, str], store: str, prefix: str) -> str | None:
    location = options.get(f"ssl.{store}.location")
    if location is None:
        return None
    kind = options.get(f"ssl.{store}.type", "JKS").upper()
    if kind != "PEM" and os.path.splitext(location)[1].lower() not in (".pem", ".crt", ".cer"):
        raise SecurityError(
            f"{prefix}ssl.{store}.location={location} is a {kind} store, which only Java can read. "
            f"Convert it once: keytool -importkeystore -srckeystore {location} -destkeystore {store}.p12 "
            f"-deststoretype PKCS12 && openssl pkcs12 -in {store}.p12 -nodes -out {store}.pem; "
            f"then use it with {prefix}ssl.{store}.type=PEM"
        )
    return location


def _sasl_of(options: Mapping[str, str], prefix: str) -> Sasl:
    mechanism = (options.get("sasl.mechanism") or options.get("sasl.mechanisms") or "GSSAPI").upper()
    if mechanism not in MECHANISMS:
        raise SecurityError(
            f"SASL mechanism {mechanism} is not supported; set {prefix}sasl.mechanism to "
            f"{' or '.join(MECHANISMS)}"
        )
    jaas = jaas_items(options.get("sasl.jaas.config", ""))
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
    )


def jaas_items(text: str) -> dict[str, str]:
    """`…LoginModule required username="me" password="pa\\"ss";` as a dictionary."""
    return {
        name: re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        for name, value in _JAAS_ITEM.findall(text)
    }
