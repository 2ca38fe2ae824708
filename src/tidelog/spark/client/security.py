"""How a connection is secured: the `kafka.security.*`, `kafka.ssl.*` and `kafka.sasl.*` options as one value.

It travels to the executors inside the data source, so it holds plain values; the TLS context is made where it
is used. Both the names of the Java client and those of librdkafka are understood. Keys and certificates are
PEM; Java's own key stores cannot be read from Python, and are refused with the command that converts them.
"""

import os
import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tidelog.spark.errors import SecurityError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_JAAS_ITEM = re.compile(r'([\w.-]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]+)')


@dataclass(frozen=True)
class Tls:
    """Files or texts in PEM. Without a trust store, the machine's own authorities are trusted."""

    ca_file: str | None = None
    ca_text: str | None = field(default=None, repr=False)
    certificate_file: str | None = None
    key_file: str | None = None
    certificate_text: str | None = field(default=None, repr=False)
    key_text: str | None = field(default=None, repr=False)
    key_password: str | None = field(default=None, repr=False)
    check_hostname: bool = True

    @cached_property
    def context(self) -> ssl.SSLContext:
        try:
            return self._made()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise SecurityError(f"TLS cannot be set up: {error}; check the kafka.ssl.* options") from error

    def __getstate__(self) -> dict[str, object]:
        # A context cannot be pickled; the executor makes its own.
        return {name: value for name, value in self.__dict__.items() if name != "context"}

    def _made(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_text)
        context.check_hostname = self.check_hostname
        if self.certificate_file is not None:
            context.load_cert_chain(self.certificate_file, self.key_file, self.key_password)
        elif self.certificate_text is not None:
            self._load_texts(context)
        return context

    def _load_texts(self, context: ssl.SSLContext) -> None:
        """The ssl module reads a key from files only, so it gets one that lives for a moment."""
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:  # created readable by its owner alone
            file.write(f"{self.key_text or ''}\n{self.certificate_text}\n")
            file.flush()
            context.load_cert_chain(file.name, password=self.key_password)


@dataclass(frozen=True)
class Sasl:
    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: str | None = field(default=None, repr=False)
    """An OAUTHBEARER token as it is; without it one is fetched from `token_endpoint`."""
    token_endpoint: str | None = None
    scope: str | None = None
    extensions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Security:
    tls: Tls | None = None
    sasl: Sasl | None = None


PLAINTEXT = Security()


def security_of(options: Mapping[str, str]) -> Security:
    """From options whose names have lost their `kafka.`."""
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SecurityError(f"kafka.security.protocol is {protocol}; it can be {', '.join(PROTOCOLS)}")
    return Security(
        tls=_tls_of(options) if protocol.endswith("SSL") else None,
        sasl=_sasl_of(options) if protocol.startswith("SASL") else None,
    )


def _tls_of(options: Mapping[str, str]) -> Tls:
    certificate_file, key_file = options.get("ssl.certificate.location"), options.get("ssl.key.location")
    key_store = _pem_store(options, "keystore")
    if key_store is not None:
        certificate_file = key_file = key_store  # Kafka's PEM key store is one file with both
    return Tls(
        ca_file=_pem_store(options, "truststore") or options.get("ssl.ca.location"),
        ca_text=options.get("ssl.truststore.certificates") or options.get("ssl.ca.pem"),
        certificate_file=certificate_file,
        key_file=key_file,
        certificate_text=options.get("ssl.keystore.certificate.chain") or options.get("ssl.certificate.pem"),
        key_text=options.get("ssl.keystore.key") or options.get("ssl.key.pem"),
        key_password=options.get("ssl.key.password"),
        check_hostname=options.get("ssl.endpoint.identification.algorithm", "https").lower() == "https",
    )


def _pem_store(options: Mapping[str, str], store: str) -> str | None:
    location = options.get(f"ssl.{store}.location")
    if location is None:
        return None
    kind = options.get(f"ssl.{store}.type", "JKS").upper()
    if kind != "PEM" and os.path.splitext(location)[1].lower() not in (".pem", ".crt", ".cer"):
        raise SecurityError(
            f"kafka.ssl.{store}.location={location} is a {kind} store, which only Java can read. "
            f"Convert it once: keytool -importkeystore -srckeystore {location} -destkeystore {store}.p12 "
            f"-deststoretype PKCS12 && openssl pkcs12 -in {store}.p12 -nodes -out {store}.pem; "
            f"then use it with kafka.ssl.{store}.type=PEM"
        )
    return location


def _sasl_of(options: Mapping[str, str]) -> Sasl:
    mechanism = (options.get("sasl.mechanism") or options.get("sasl.mechanisms") or "GSSAPI").upper()
    if mechanism not in MECHANISMS:
        raise SecurityError(
            f"SASL mechanism {mechanism} is not supported; set kafka.sasl.mechanism to "
            f"{' or '.join(MECHANISMS)}"
        )
    jaas = jaas_items(options.get("sasl.jaas.config", ""))
    username = options.get("sasl.username") or jaas.get("username") or jaas.get("clientId", "")
    password = options.get("sasl.password") or jaas.get("password") or jaas.get("clientSecret", "")
    token = options.get("sasl.oauthbearer.token")
    endpoint = options.get("sasl.oauthbearer.token.endpoint.url")
    if mechanism == "OAUTHBEARER" and token is None and endpoint is None:
        raise SecurityError(
            "OAUTHBEARER needs kafka.sasl.oauthbearer.token, or kafka.sasl.oauthbearer.token.endpoint.url "
            "with clientId and clientSecret in kafka.sasl.jaas.config"
        )
    if mechanism != "OAUTHBEARER" and not username:
        raise SecurityError(
            f"SASL {mechanism} needs a user: set kafka.sasl.jaas.config, or kafka.sasl.username and "
            "kafka.sasl.password"
        )
    extensions = {name: value for name, value in jaas.items() if name.startswith("extension_")}
    return Sasl(
        mechanism,
        username,
        password,
        token,
        endpoint,
        jaas.get("scope"),
        tuple((name.removeprefix("extension_"), value) for name, value in extensions.items()),
    )


def jaas_items(text: str) -> dict[str, str]:
    """`…LoginModule required username="me" password="pa\\"ss";` as a dictionary."""
    found = {}
    for name, value in _JAAS_ITEM.findall(text):
        found[name] = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
    return found
