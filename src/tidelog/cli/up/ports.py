"""Which ports serve metrics and the schema registry: 9404, 8081 and the next ones."""

from itertools import count, islice

from tidelog.base.config.config import BrokerConfig
from tidelog.base.settings.metrics import FREE_PORT
from tidelog.server.free_ports import bound, free_ports

METRICS, REGISTRY = "metrics", "schema.registry"
FIRST_PORTS = {METRICS: 9404, REGISTRY: 8081}


def http_ports(
    config: BrokerConfig, what: str, brokers: int, *, any_free: bool, step: int = 1, rows: range = range(1)
) -> list[int]:
    """Returns `metrics.port` or `schema.registry.port` of each broker: as given, counted up by `step` for
    several, or the next free ones. `rows` are the distances from there at which ports must be free, too."""
    host, first = config.text(f"{what}.host"), config.int(f"{what}.port")
    if first > 0:
        return list(range(first, first + brokers * step, step))
    if config.is_given(f"{what}.port"):
        return [first] * brokers
    if any_free:
        return free_ports(host, brokers, in_a_row=len(rows), step=rows.step)
    free = (port for port in count(FIRST_PORTS[what]) if port > 65535 or _are_free(host, port, rows))
    return [port if port <= 65535 else FREE_PORT for port in islice(free, brokers)]


def _are_free(host: str, first: int, rows: range) -> bool:
    try:
        for distance in rows:
            bound(host, first + distance).close()
    except (OSError, OverflowError):
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
