"""`host:port` as people write it, with or without a protocol in front, an IPv6 address in brackets."""

DEFAULT_PORT = 9092


def host_and_port(text: str) -> tuple[str, int] | None:
    """None where it is no address."""
    address = text.strip().rpartition("://")[2]
    host, port = address, str(DEFAULT_PORT)
    if ":" in address.rpartition("]")[2]:
        host, _, port = address.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        return None
    return host.strip("[]"), int(port)


def addresses_of(servers: str) -> list[tuple[str, int]]:
    """Those of `bootstrap.servers` that are addresses."""
    return [found for found in map(host_and_port, servers.split(",")) if found is not None]
