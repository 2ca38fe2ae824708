"""The plan of a machine's cores, by its settings and log dirs: one in a cluster, or one that is alone."""

from collections.abc import Mapping

from tidelog.base.config.config import BrokerConfig
from tidelog.cli.cores.count import wanted_cores
from tidelog.cli.cores.plan import CoresPlan, plan_cores
from tidelog.cli.fleet.core_numbers import PORT_STEP
from tidelog.cli.log.core_dirs import known_cores
from tidelog.cli.security.secured_state import is_secured
from tidelog.cli.up.secured import secured_flags
from tidelog.cli.up.settings import given_config


def machine_in_cluster(
    config: BrokerConfig, file: str | None, flags: Mapping[str, str], *, in_fleet: bool = False
) -> CoresPlan:
    """In a fleet the next ports are those of other machines."""
    wanted, known = wanted_cores(config), known_cores(config.list("log.dirs"))
    return plan_cores(config, file, flags, wanted, known, port_step=PORT_STEP if in_fleet else 1)


def machine_alone(
    config: BrokerConfig, file: str | None, given: Mapping[str, str], *, secure: bool
) -> CoresPlan:
    """It serves metrics and schemas without being asked, and is secured once `--secure` was given."""
    flags, security = dict(given), None
    log_dirs = config.list("log.dirs")
    wanted, known = wanted_cores(config), known_cores(log_dirs)
    if secure or is_secured(log_dirs[0]):
        flags, security = secured_flags(config, flags, max(wanted, known))
        config = given_config(file, flags)
    return plan_cores(config, file, flags, wanted, known, is_alone=True, security=security)
