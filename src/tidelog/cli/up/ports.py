"""Which ports serve metrics and the schema registry: 9404, 8081 and the next ones."""

from collections.abc import Container, Iterable

from tidelog.base.config.config import BrokerConfig
from tidelog.base.settings.metrics import FREE_PORT
from tidelog.server.free_ports import PORT_MAX, bound, free_ports

METRICS, REGISTRY = "metrics", "schema.registry"
FIRST_PORTS = {METRICS: 9404, REGISTRY: 8081}


def http_ports(
    config: BrokerConfig,
    what: str,
    brokers: int,
    *,
    any_free: bool,
    step: int = 1,
    rows: range = range(1),
    others: Container[int] = (),
) -> list[int]:
    """Returns `metrics.port` or `schema.registry.port` of each broker: as given, counted up by `step` for
    several, or the next free ones. `rows` are the distances from there at which ports must be free, too.
    `others` are the brokers' own, where nothing listens yet."""
    host, first = config.text(f"{what}.host"), config.int(f"{what}.port")
    if first > 0:
        return list(range(first, first + brokers * step, step))
    if config.is_given(f"{what}.port"):
        return [first] * brokers
    if any_free:
        return free_ports(host, brokers, in_a_row=len(rows), step=rows.step, others=others)
    found: list[int] = []
    held = set[int]()
    for port in range(FIRST_PORTS[what], PORT_MAX + 1):
        if len(found) == brokers:
            break
        row = {port + distance for distance in rows}
        if held.isdisjoint(row) and not any(port in others for port in row) and _are_free(host, row):
            found.append(port)
            held |= row
    return [*found, *[FREE_PORT] * (brokers - len(found))]


def _are_free(host: str, ports: Iterable[int]) -> bool:
    try:
        for port in ports:
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
