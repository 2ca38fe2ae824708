"""Listeners: `NAME://host:port`, the addresses that a broker listens on, and those that it advertises to
clients."""

import re
from typing import NamedTuple

_LISTENER = re.compile(r"([A-Za-z0-9_-]+)://(?:\[([0-9a-fA-F:.]+(?:%\w+)?)\]|([^\[\]:/@\s]*)):([0-9]{1,5})")

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
    if int(port) > 65535:
        raise ValueError(f"port {port} of {text!r} is above 65535")
    return Listener(name, ipv6 or host, int(port))


def check_listeners(value: object) -> str | None:
    """Why a list of listeners is invalid, or None: each name and each address may appear once."""
    if not isinstance(value, tuple) or not value:
        return "name at least one listener"
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
    """Why addresses cannot be advertised, or None. Several names may share an address."""
    if value is None:
        return None
    if not isinstance(value, tuple) or not value:
        return "name at least one listener"
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
