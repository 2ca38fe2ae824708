"""One broker for all tests of authentication: every mechanism, with and without TLS, users and an identity
provider."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.interop.secured.clients import Login
from tests.rigs.identity_provider import AUDIENCE, ISSUER, IdentityProvider
from tidelog.security.tls.authority import Authority
from tidelog.testing import Broker
from tidelog.testing.broker import SettingValue

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
USER, PASSWORD = "alice", "alice's pass,word="
REAUTH_MS = 2000
"""On the listener for re-authentication."""


class SecuredBroker:
    def __init__(self, running: Broker, provider: IdentityProvider, directory: Path) -> None:
        self.provider = provider
        self.directory = directory
        self.ca = str(directory / "ca.pem")
        self.plain = f"127.0.0.1:{running.port}"
        addresses = running.bootstrap_servers.split(",")
        self.sasl_plaintext, self.sasl_ssl, self.short_sessions = addresses[-3:]

    def login(self, mechanism: str = "SCRAM-SHA-256", *, tls: bool = True) -> Login:
        """Of the user that all tests share."""
        password = self.provider.token(USER) if mechanism == "OAUTHBEARER" else PASSWORD
        bootstrap = self.sasl_ssl if tls else self.sasl_plaintext
        return Login(bootstrap, mechanism, USER, password, self.ca if tls else None)

    def add_user(self, name: str, password: str) -> None:
        """By SCRAM-SHA-256 and -512, and so by PLAIN too."""
        admin = AdminClient({"bootstrap.servers": self.plain})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(mechanism, 4096)
            change = UserScramCredentialUpsertion(name, info, password.encode())
            for future in admin.alter_user_scram_credentials([change]).values():
                future.result()


@contextmanager
def secured_broker(directory: Path) -> Iterator[SecuredBroker]:
    authority = Authority.new("Tests", datetime.now(UTC))
    issued = authority.issue("broker-1", datetime.now(UTC), hosts=("127.0.0.1", "localhost"))
    (directory / "broker.pem").write_bytes(issued.key + issued.certificate)
    (directory / "ca.pem").write_bytes(authority.pem.certificate)
    provider = IdentityProvider()
    with provider.serve() as url, Broker(settings=_settings(directory, url)) as running:
        secured = SecuredBroker(running, provider, directory)
        secured.add_user(USER, PASSWORD)
        yield secured


def _settings(directory: Path, url: str) -> dict[str, SettingValue]:
    return {
        "listeners": [
            "PLAINTEXT://127.0.0.1:0",
            "SASL_PLAINTEXT://127.0.0.1:0",
            "SASL_SSL://127.0.0.1:0",
            "SHORT://127.0.0.1:0",
        ],
        "listener.security.protocol.map": ["SHORT:SASL_PLAINTEXT"],
        "inter.broker.listener.name": "PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "sasl.enabled.mechanisms": list(MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": url,
        "sasl.oauthbearer.expected.issuer": ISSUER,
        "sasl.oauthbearer.expected.audience": [AUDIENCE],
        "listener.name.short.connections.max.reauth.ms": REAUTH_MS,
        "delegation.token.secret.key": "secret of all brokers",
        "auto.create.topics.enable": True,
    }
