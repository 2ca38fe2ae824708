"""Which ports are free, and which serve metrics and the schema registry: 9404, 8081 and the next ones."""

import socket
from itertools import count, islice

from tidelog.base.config.config import BrokerConfig
from tidelog.base.settings.metrics import FREE_PORT

METRICS, REGISTRY = "metrics", "schema.registry"
FIRST_PORTS = {METRICS: 9404, REGISTRY: 8081}


def bound(host: str, port: int) -> socket.socket:
    """Raises OSError where the port is taken."""
    family = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    probe = socket.socket(family[0], socket.SOCK_STREAM)
    try:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(family[4])
    except OSError:
        probe.close()
        raise
    return probe


def free_ports(host: str, wanted: int) -> list[int]:
    # All are held until all are found, or the system might give one twice.
    held = [bound(host, 0) for _ in range(wanted)]
    ports = [int(found.getsockname()[1]) for found in held]
    for found in held:
        found.close()
    return ports


def http_ports(config: BrokerConfig, what: str, brokers: int, *, any_free: bool) -> list[int]:
    """Returns `metrics.port` or `schema.registry.port` of each broker: as given, counted up for several, or
    the next free ones."""
    host, first = config.text(f"{what}.host"), config.int(f"{what}.port")
    if first > 0:
        return list(range(first, first + brokers))
    if config.is_given(f"{what}.port"):
        return [first] * brokers
    if any_free:
        return free_ports(host, brokers)
    free = (port for port in count(FIRST_PORTS[what]) if port > 65535 or _is_free(host, port))
    return [port if port <= 65535 else FREE_PORT for port in islice(free, brokers)]


def _is_free(host: str, port: int) -> bool:
    try:
        bound(host, port).close()
    except OSError:
        return False
    return True


def metrics_url(config: BrokerConfig, port: int) -> str:
    return f"{_url(config, METRICS, port)}/metrics"


def registry_url(config: BrokerConfig, port: int, *, has_tls: bool = False) -> str:
    """`has_tls`: other settings than those of `config` say so."""
    return _url(config, REGISTRY, port, has_tls)


def _url(config: BrokerConfig, what: str, port: int, has_tls: bool = False) -> str:
    host = config.text(f"{what}.host")
    has_tls = has_tls or config.text(f"{what}.security.protocol") == "SSL"
    shown = "localhost" if host in ("", "0.0.0.0", "::") else host
    return f"{'https' if has_tls else 'http'}://{f'[{shown}]' if ':' in shown else shown}:{port}"
