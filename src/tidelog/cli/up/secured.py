"""One secured broker: its settings over those that the command line, the environment and a file give."""

from collections.abc import Mapping

from tidelog.base.config.config import BrokerConfig
from tidelog.cli.security.local import LocalBroker, LocalSecurity, refuse_own_settings
from tidelog.cli.security.secured_settings import without_own


def secured_flags(
    config: BrokerConfig, flags: Mapping[str, str], cores: int = 1
) -> tuple[dict[str, str], LocalSecurity]:
    """The cores of a machine prove themselves by one certificate, that of the broker which the machine is."""
    refuse_own_settings(config)
    log_dirs, id = config.list("log.dirs"), config.int("node.id")
    [clients], [advertised] = config.listeners(), config.advertised_listeners()
    security = LocalSecurity(log_dirs[0])
    [port] = security.choose_ports([clients.port], cores)
    security.prepare(
        [LocalBroker(id, log_dirs[0], advertised.host)], config.optional_text("cluster.id") or ""
    )
    settings = without_own(security.settings_of(id, clients, advertised, port, [id]), config)
    return {**flags, "log.dirs": ",".join(log_dirs), **settings}, security
