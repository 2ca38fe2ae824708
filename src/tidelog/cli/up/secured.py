"""One secured broker: its settings over those that the command line, the environment and a file give."""

from collections.abc import Mapping

from tidelog.base.config.config import BrokerConfig
from tidelog.cli.security.local import LocalBroker, LocalSecurity, refuse_own_settings
from tidelog.cli.security.secured_settings import without_own
from tidelog.cli.up.settings import given_config


def secured_broker(
    config: BrokerConfig, file: str | None, flags: Mapping[str, str]
) -> tuple[BrokerConfig, LocalSecurity]:
    refuse_own_settings(config)
    log_dirs, id = config.list("log.dirs"), config.int("node.id")
    [clients], [advertised] = config.listeners(), config.advertised_listeners()
    security = LocalSecurity(log_dirs[0])
    [port] = security.choose_ports([clients.port])
    security.prepare(
        [LocalBroker(id, log_dirs[0], advertised.host)], config.optional_text("cluster.id") or ""
    )
    settings = without_own(security.settings_of(id, clients, advertised, port, [id]), config)
    return given_config(file, {**flags, "log.dirs": ",".join(log_dirs), **settings}), security
