"""`host:port` as people write it: a protocol may stand in front, and an IPv6 address is in brackets."""

from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
DEFAULT_PORT = 9092


def host_and_port(text: str) -> Address | None:
    """Returns None where the text is no address."""
    address = text.strip().rpartition("://")[2]
    host, port = address, str(DEFAULT_PORT)
    if ":" in address.rpartition("]")[2]:
        host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        return None
    return host.strip("[]"), int(port)


def addresses_of(servers: str) -> list[Address]:
    """Returns the addresses in `bootstrap.servers`; skips what is none."""
    return [address for address in map(host_and_port, servers.split(",")) if address is not None]
