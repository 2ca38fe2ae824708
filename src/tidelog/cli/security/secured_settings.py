"""The settings of a secured broker: TLS and SCRAM for clients, certificates between brokers, ACLs for all.

Clients and brokers have a listener each. A broker proves itself to the others by its certificate, whose name
is its principal (`CN=broker-1` is `User:broker-1`) and a super user.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from tidelog.base.config.broker_config import BrokerConfig
from tidelog.base.listener import Listener
from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.cli.security.files import broker_name

CLIENTS, BROKERS = "CLIENTS", "BROKERS"
BROKER_PORT_DISTANCE = 10_000
"""From the port of the clients to that of the brokers: ports of further cores fit between them."""
MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256")
CIPHER_SUITES = tuple(
    f"TLS_ECDHE_{kind}_WITH_{cipher}"
    for kind in ("ECDSA", "RSA")
    for cipher in ("AES_256_GCM_SHA384", "AES_128_GCM_SHA256", "CHACHA20_POLY1305_SHA256")
)
"""Of TLS 1.2: with forward secrecy and authenticated encryption. Those of TLS 1.3 all have both."""
CHOSEN = (
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "authorizer.class.name",
    "super.users",
    "sasl.enabled.mechanisms",
    "ssl.keystore.location",
    "ssl.truststore.location",
)
"""Settings that a secured broker gets from here, so that they cannot be given beside `--secure`."""


FREE = (
    "audit.file",
    "delegation.token.secret.key",
    "ssl.cipher.suites",
    "schema.registry.security.protocol",
    "schema.registry.authentication",
)


def secured_settings(
    *,
    clients: Listener,
    brokers: Listener,
    advertised_clients: Listener,
    advertised_brokers: Listener,
    key_file: Path,
    ca_file: Path,
    token_key_file: Path,
    super_users: Iterable[str],
) -> dict[str, str]:
    return {
        "listeners": f"{clients._replace(name=CLIENTS)},{brokers._replace(name=BROKERS)}",
        "advertised.listeners": (
            f"{advertised_clients._replace(name=CLIENTS)},{advertised_brokers._replace(name=BROKERS)}"
        ),
        "listener.security.protocol.map": f"{CLIENTS}:SASL_SSL,{BROKERS}:SSL",
        "inter.broker.listener.name": BROKERS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key_file),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca_file),
        "ssl.cipher.suites": ",".join(CIPHER_SUITES),
        f"listener.name.{BROKERS.lower()}.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": r"RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "delegation.token.secret.key": f"${{file:{token_key_file}}}",  # a path: process lists show settings
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": ";".join(f"User:{name}" for name in super_users),
        "schema.registry.security.protocol": "SSL",
        "schema.registry.authentication": "BASIC",
    }


def without_own(settings: Mapping[str, str], config: BrokerConfig) -> dict[str, str]:
    """Without those that a person may choose and has chosen: nothing is less secure for it."""
    return {name: value for name, value in settings.items() if name not in FREE or not config.is_given(name)}


def super_users_of(admin: str, broker_ids: Iterable[int]) -> list[str]:
    return [admin, *map(broker_name, broker_ids)]
