"""What each core's broker of a machine is given: its id, its ports, its log dirs, its share of the limits."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.listener import Listener
from tidelog.base.log_dir_encryption import ALL_LOG_DIRS
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet.core_numbers import ID_STEP, core_id, port_row, row_text
from tidelog.cli.fleet.plan import FleetPlan, MemberPlan
from tidelog.cli.fleet.record import Recorded
from tidelog.cli.log.core_dirs import core_log_dir
from tidelog.cli.up.ports import METRICS, REGISTRY, http_ports, metrics_url, registry_url
from tidelog.server.free_ports import PORT_MAX

if TYPE_CHECKING:
    from tidelog.cli.security.local import LocalSecurity

SHARED_OUT = {
    "background.threads": 2,
    "log.cleaner.threads": 1,
    "num.recovery.threads.per.data.dir": 1,
}
"""Threads of the machine, which its brokers divide among them, with the least that each of them gets."""


@dataclass(frozen=True, slots=True)
class CoresPlan(FleetPlan):
    """A machine's brokers; the first of them is the one that a machine with one core has."""

    count: int = 1
    """The cores that shall serve. There are more members while others, of an earlier start, are drained."""
    port_step: int = 1
    """From the ports of a core to those of the next."""

    @property
    def leaving(self) -> list[int]:
        return [member.id for member in self.members[self.count :]]

    @property
    def machine(self) -> str:
        return self.config.optional_text("broker.machine") or str(self.members[0].id)

    @property
    def bootstrap_servers(self) -> str:
        return self.members[0].address

    @property
    def broker_addresses(self) -> str:
        """Where the supervisor itself asks."""
        name = self.config.inter_broker_listener()
        return ",".join(
            _address(self.listeners_of(core, advertised=True)[name]) for core in range(self.count)
        )

    @property
    def arguments(self) -> tuple[str, ...]:
        return ("--one-core",)

    @property
    def metrics_urls(self) -> list[str]:
        ports = [member.metrics_port for member in self.members[: self.count]]
        return [metrics_url(self.config, port) for port in ports if port > 0]

    @property
    def registry_urls(self) -> list[str]:
        ports = [member.registry_port for member in self.members[: self.count]]
        return [registry_url(self.config, port) for port in ports if port > 0]

    def settings_of(self, member: MemberPlan) -> dict[str, str]:
        core = self.members.index(member)
        first = self.listeners_of(0, advertised=True)[self.config.inter_broker_listener()]
        voters = {"controller.quorum.voters": f"{self.members[0].id}@{_address(first)}"}
        return {
            **self.flags,
            **({} if self.config.list("controller.quorum.voters") else voters),
            **self._shares(),
            **self._own_files(core),
            **self._encrypted(core),
            "broker.cores": str(len(self.members)),
            "broker.machine": self.machine,
            "node.id": str(member.id),
            "listeners": ",".join(map(str, self.listeners_of(core).values())),
            "advertised.listeners": ",".join(map(str, self.listeners_of(core, advertised=True).values())),
            "log.dirs": ",".join(core_log_dir(path, core) for path in self.config.list("log.dirs")),
            "metrics.port": str(member.metrics_port),
            "schema.registry.port": str(member.registry_port),
        }

    def listeners_of(self, core: int, *, advertised: bool = False) -> dict[str, Listener]:
        found = self.config.advertised_listeners() if advertised else self.config.listeners()
        return {
            listener.name: listener._replace(port=listener.port + core * self.port_step) for listener in found
        }

    def _own_files(self, core: int) -> dict[str, str]:
        """Two processes that write and rename one audit file would lose lines of each other."""
        path = self.config.optional_text("audit.file")
        if not path or core == 0:
            return {}
        name, kind = os.path.splitext(path)
        return {"audit.file": f"{name}-{core}{kind}"}

    def _encrypted(self, core: int) -> dict[str, str]:
        """The settings name the log dirs of the machine."""
        name = "log.dirs.encryption"
        named = self.config.list(name)
        paths = [path if path == ALL_LOG_DIRS else core_log_dir(path, core) for path in named]
        return {name: ",".join(paths)} if named else {}

    def _shares(self) -> dict[str, str]:
        """Other limits may change while the brokers run, so that each takes its share of them by itself."""
        count = len(self.members)
        return {name: str(max(least, self.config.int(name) // count)) for name, least in SHARED_OUT.items()}


def plan_cores(
    config: BrokerConfig,
    file: str | None,
    flags: Mapping[str, str],
    count: int,
    known: int,
    *,
    is_alone: bool = False,
    security: "LocalSecurity | None" = None,
    port_step: int = 1,
) -> CoresPlan:
    """`known` cores have log dirs already: those beyond `count` run until they are drained.

    A machine that is alone serves metrics and schemas without being asked, as `tidelog up` does.
    """
    cores = max(count, known)
    first_id = config.int("node.id")
    if first_id >= ID_STEP:
        raise CliError(
            f"node.id {first_id} is too large for several cores.",
            cause=f"core k of broker n is broker n + {ID_STEP} k, so node.id is below {ID_STEP}.",
            attempt=f"a node.id below {ID_STEP} for a new broker; or --cores 1",
            code=Exit.USAGE,
        )
    listeners, advertised = config.listeners(), config.advertised_listeners()
    own = _own_ports(listeners, cores, port_step)
    ports = list(port_row(listeners[0].port, cores, port_step))
    http = [
        http_ports(config, what, cores, any_free=False, step=port_step, others=own)
        if is_alone or config.is_given(f"{what}.port")
        else [0] * cores
        for what in (METRICS, REGISTRY)
    ]
    members = tuple(
        MemberPlan(
            core_id(first_id, core),
            listeners[0]._replace(port=port),
            advertised[0]._replace(port=advertised[0].port + core * port_step),
            core_log_dir(config.list("log.dirs")[0], core),
            metrics_port=metrics_port,
            registry_port=registry_port,
        )
        for core, (port, metrics_port, registry_port) in enumerate(zip(ports, *http, strict=True))
    )
    recorded = Recorded(config.optional_text("cluster.id") or "", ports, [first_id])
    data = config.list("log.dirs")[0]
    return CoresPlan(
        data, recorded, False, members, config, file, dict(flags), security, count=count, port_step=port_step
    )


def _own_ports(listeners: Sequence[Listener], cores: int, step: int) -> dict[int, str]:
    """Returns the listener by port. CliError where two of them want one."""
    if any(listener.port == 0 for listener in listeners):
        raise CliError(
            "Port 0 goes with one core.",
            cause="the cores find each other at their ports, after a restart as well.",
            attempt="a port of which the next ones are free, too: --port 9092",
            code=Exit.USAGE,
        )
    taken: dict[int, str] = {}
    for listener in listeners:
        row = port_row(listener.port, cores, step)
        for port in row:
            if port > PORT_MAX:
                raise CliError(
                    f"{cores} cores from port {listener.port} on would end at {row[-1]}; "
                    f"{PORT_MAX} is the last port.",
                    attempt="a lower port in listeners",
                    code=Exit.USAGE,
                )
            if port in taken:
                raise CliError(
                    f"The ports of the listeners {taken[port]} and {listener.name} overlap: each needs "
                    f"{row_text(cores, step)}, one for each core.",
                    attempt=f"ports in listeners that are at least {cores} apart",
                    code=Exit.USAGE,
                )
            taken[port] = listener.name
    return taken


def _address(listener: Listener) -> str:
    host = f"[{listener.host}]" if ":" in listener.host else listener.host
    return f"{host}:{listener.port}"
