"""Listeners: `NAME://host:port`, where a broker waits for clients and where it tells them to come."""

import re
from typing import NamedTuple

_LISTENER = re.compile(r"([A-Za-z0-9_-]+)://(?:\[([0-9a-fA-F:.]+(?:%\w+)?)\]|([^\[\]:/@\s]*)):([0-9]{1,5})")

# Kafka reads these names as security protocols; serving plain text under them would deceive the operator.
_PROTOCOLS_NOT_OFFERED = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")

EVERY_INTERFACE = ("", "0.0.0.0", "::")


class Listener(NamedTuple):
    name: str
    host: str
    port: int

    @property
    def is_every_interface(self) -> bool:
        return self.host in EVERY_INTERFACE

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listener(text: str) -> Listener:
    match = _LISTENER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a listener; write NAME://host:port, as PLAINTEXT://localhost:9092")
    name, ipv6, host, port = match.groups()
    name = name.upper()
    if name in _PROTOCOLS_NOT_OFFERED:
        raise ValueError(f"{name} listeners are not offered; use a name such as PLAINTEXT")
    if int(port) > 65535:
        raise ValueError(f"port {port} of {text!r} is above 65535")
    return Listener(name, ipv6 or host, int(port))


def check_listeners(value: object) -> str | None:
    """Why a list of listeners cannot stand, or None: each name and each address once."""
    if not isinstance(value, tuple) or not value:
        return "at least one listener is wanted"
    try:
        listeners = [parse_listener(text) for text in value]
    except ValueError as error:
        return str(error)
    names = [listener.name for listener in listeners]
    if len(set(names)) < len(names):
        return "two listeners have the same name"
    addresses = [(listener.host, listener.port) for listener in listeners if listener.port]
    if len(set(addresses)) < len(addresses):
        return "two listeners have the same address"
    return None


def check_advertised(value: object) -> str | None:
    """Why addresses cannot be given to clients, or None. Several names may lead to one address."""
    if value is None:
        return None
    if not isinstance(value, tuple) or not value:
        return "at least one listener is wanted"
    try:
        listeners = [parse_listener(text) for text in value]
    except ValueError as error:
        return str(error)
    names = [listener.name for listener in listeners]
    if len(set(names)) < len(names):
        return "two listeners have the same name"
    for listener in listeners:
        if listener.is_every_interface:
            return f"clients cannot connect to {listener}; name a host they can reach"
    return None
