"""Which brokers a cluster on this machine has: ids, ports, log dirs, voters, and the settings of each."""

import os
from collections.abc import Container, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import uuid_from_random, uuid_text
from tidelog.base.listener import Listener
from tidelog.base.settings.node import AUTO_CORES, CORES_MAX
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet.core_numbers import port_row
from tidelog.cli.fleet.ports import first_ports, more_ports, refuse_ports_beyond_the_last
from tidelog.cli.fleet.record import Recorded
from tidelog.cli.log.core_dirs import known_cores
from tidelog.cli.security.secured_settings import without_own
from tidelog.cli.up.ports import METRICS, REGISTRY, http_ports, metrics_url, registry_url
from tidelog.cli.up.settings import given_config

if TYPE_CHECKING:
    from tidelog.cli.security.local import LocalSecurity

VOTERS_MAX = 5
REPLICAS = 3
OURS = ("node.id", "log.dirs", "controller.quorum.voters", "broker.machine")


@dataclass(frozen=True, slots=True)
class MemberPlan:
    """A process to start and to stop: a broker, or a machine, which supervises a broker for each core."""

    id: int
    listener: Listener
    advertised: Listener
    log_dir: str
    broker_port: int | None = None
    """Of the listener that brokers have for themselves, in a secured cluster."""
    metrics_port: int = 0
    registry_port: int = 0
    cores: int = 1
    """Those that shall serve, and others of an earlier start, which are drained."""

    @property
    def name(self) -> str:
        return f"Broker {self.id}" if self.cores == 1 else f"Machine {self.id}"

    @property
    def address(self) -> str:
        """Where clients find it."""
        host = self.advertised.host
        return f"[{host}]:{self.advertised.port}" if ":" in host else f"{host}:{self.advertised.port}"

    @property
    def broker_address(self) -> str:
        """Where the other brokers find it."""
        return self.address if self.broker_port is None else f"localhost:{self.broker_port}"


@dataclass(frozen=True, slots=True)
class FleetPlan:
    data: str
    recorded: Recorded
    is_new: bool
    members: tuple[MemberPlan, ...]
    config: BrokerConfig
    """The settings that all of them share."""
    file: str | None
    flags: Mapping[str, str]
    security: "LocalSecurity | None" = None
    cores_before: int = 1
    """What the directory remembers until all answer with other cores."""

    @property
    def cores(self) -> int:
        """Of each machine, those that shall serve."""
        return self.recorded.cores

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(member.address for member in self.members)

    @property
    def broker_addresses(self) -> str:
        return ",".join(member.broker_address for member in self.members)

    @property
    def metrics_urls(self) -> list[str]:
        """Where the brokers serve their metrics, as far as it is known before they start."""
        ports = self._of_all_cores([member.metrics_port for member in self.members])
        return [metrics_url(self.config, port) for port in ports]

    @property
    def registry_urls(self) -> list[str]:
        """Where the brokers serve the schema registry, as far as it is known before they start."""
        ports = self._of_all_cores([member.registry_port for member in self.members])
        is_secured = self.security is not None and not self.config.is_given(f"{REGISTRY}.security.protocol")
        return [registry_url(self.config, port, has_tls=is_secured) for port in ports]

    def _of_all_cores(self, firsts: Iterable[int]) -> list[int]:
        return [port for first in firsts if first > 0 for port in port_row(first, self.cores)]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Flags of each broker's command beside its settings."""
        return ("--in-fleet", self.data) if any(member.cores > 1 for member in self.members) else ()

    def settings_of(self, member: MemberPlan) -> dict[str, str]:
        """What the broker is given beside the settings file and the environment."""
        voters = [
            f"{other.id}@{other.broker_address}" for other in self.members if other.id in self.recorded.voters
        ]
        count = len(self.members)
        shared = {
            "default.replication.factor": str(min(REPLICAS, count)),
            "min.insync.replicas": "2" if count >= REPLICAS else "1",
        }
        return {
            **{name: text for name, text in shared.items() if not self.config.is_given(name)},
            **self.flags,
            **({"broker.cores": str(self.cores)} if self.cores > 1 else {}),
            "node.id": str(member.id),
            "cluster.id": self.recorded.cluster_id,
            "controller.quorum.voters": ",".join(voters),
            "listeners": str(member.listener),
            "advertised.listeners": str(member.advertised),
            "log.dirs": member.log_dir,
            "metrics.port": str(member.metrics_port),
            "schema.registry.port": str(member.registry_port),
            **self._secured(member),
        }

    def _secured(self, member: MemberPlan) -> dict[str, str]:
        if self.security is None or member.broker_port is None:
            return {}
        ids = [other.id for other in self.members]
        settings = self.security.settings_of(
            member.id, member.listener, member.advertised, member.broker_port, ids
        )
        return without_own(settings, self.config)


def plan_fleet(
    recorded: Recorded | None,
    brokers: int | None,
    data: str,
    port: int | None,
    file: str | None,
    flags: Mapping[str, str],
) -> FleetPlan:
    config = given_config(file, flags)
    _refuse_own_settings(config)
    data = os.path.abspath(data)
    listener = config.listeners()[0]
    wanted_id = config.optional_text("cluster.id")
    is_new = recorded is None
    cores = _cores(config, recorded, brokers)
    cores_before = cores if recorded is None else recorded.cores
    if recorded is None:
        _refuse_single_broker(data)
        count = brokers or 1
        ports = first_ports(listener, port, count, cores)
        recorded = Recorded(wanted_id or _new_id(), ports, list(voter_ids(count)), cores)
    else:
        recorded = replace(_grown(recorded, brokers, port, listener, data, cores), cores=cores)
        if wanted_id not in (None, recorded.cluster_id):
            raise CliError(
                f"{data} holds cluster {recorded.cluster_id}, not {wanted_id}.",
                attempt="another directory with --data, or leave cluster.id out",
                code=Exit.USAGE,
            )
    _refuse_too_many(len(recorded.ports), cores)
    refuse_ports_beyond_the_last(recorded.ports, cores, is_new=is_new)
    log_dirs = [os.path.join(data, f"node-{id}") for id in range(1, len(recorded.ports) + 1)]
    of_each = [max(cores, known_cores([log_dir])) for log_dir in log_dirs]
    rows = port_row(0, max(of_each))
    chosen = _rows(recorded.ports, rows)
    http = []
    for what in (METRICS, REGISTRY):
        http.append(http_ports(config, what, len(log_dirs), any_free=port == 0, rows=rows, others=chosen))
        chosen |= _rows(http[-1], rows)
    members = tuple(
        MemberPlan(
            id,
            listener._replace(port=port),
            config.advertised_listeners()[0]._replace(port=port),
            log_dir,
            metrics_port=metrics_port,
            registry_port=registry_port,
            cores=own_cores,
        )
        for id, (port, metrics_port, registry_port, log_dir, own_cores) in enumerate(
            zip(recorded.ports, *http, log_dirs, of_each, strict=True), 1
        )
    )
    return FleetPlan(data, recorded, is_new, members, config, file, dict(flags), cores_before=cores_before)


def voter_ids(brokers: int) -> range:
    """An odd number, up to five: an even one bears no greater loss, and more only makes changes slower."""
    votes = min(brokers, VOTERS_MAX)
    return range(1, votes + votes % 2)


def stop_order(ids: Iterable[int], voters: Container[int], controller: int | None) -> list[int]:
    """The controller last: it must be there when the others hand their partitions over. It stays one only
    while more than half of the voters are up, so those without a vote go first."""
    return sorted(ids, key=lambda id: (id in voters, id == controller, id))


def stop_turns(order: Sequence[int], voters: Sized, cores: int) -> list[Sequence[int]]:
    """Each alone, since others have to take over from it. Without a controller none can, and a machine would
    wait for that core by core: so the last majority of the voters stops together where there are cores."""
    together = len(voters) // 2 + 1 if cores > 1 else 1
    return [*([id] for id in order[:-together]), order[-together:]] if order else []


def _cores(config: BrokerConfig, recorded: Recorded | None, brokers: int | None) -> int:
    """As given, or as the cluster had them before."""
    if not config.is_given("broker.cores"):
        return 1 if recorded is None else recorded.cores
    if config.text("broker.cores") == AUTO_CORES:
        machines = max(brokers or 1, len(recorded.ports) if recorded is not None else 1)
        share = max(1, (os.cpu_count() or 1) // machines)
        raise CliError(
            f"--cores auto would give every core of this computer to each of {machines} brokers.",
            cause="here they share one computer.",
            attempt=f"a number: --cores {share}",
            code=Exit.USAGE,
        )
    return int(config.text("broker.cores"))


def _rows(firsts: Iterable[int], rows: range) -> set[int]:
    return {first + distance for first in firsts if first > 0 for distance in rows}


def _refuse_too_many(brokers: int, cores: int) -> None:
    if cores > 1 and brokers * cores > CORES_MAX:
        raise CliError(
            f"{brokers} brokers with {cores} cores each would be {brokers * cores} processes; "
            f"{CORES_MAX} is the most on one computer.",
            attempt=f"--cores {CORES_MAX // brokers}, or fewer",
            code=Exit.USAGE,
        )


def _grown(
    recorded: Recorded, brokers: int | None, port: int | None, listener: Listener, data: str, cores: int
) -> Recorded:
    known = len(recorded.ports)
    if brokers is not None and brokers < known:
        raise CliError(
            f"{data} holds a cluster of {known} brokers, not of {brokers}.",
            cause="a cluster may grow; starting only part of it would leave replicas without their brokers.",
            attempt=f"tidelog up --brokers {known}, or another directory with --data",
            code=Exit.USAGE,
        )
    if port not in (None, 0, recorded.ports[0]):
        raise CliError(
            f"The cluster in {data} listens from port {recorded.ports[0]} on, not from {port}.",
            cause="its brokers find each other at these addresses.",
            attempt="without --port, or another directory with --data",
            code=Exit.USAGE,
        )
    more = (brokers or known) - known
    if not more:
        return recorded
    ports = more_ports(recorded.ports, listener, more, cores)
    return replace(recorded, ports=[*recorded.ports, *ports])


def _refuse_own_settings(config: BrokerConfig) -> None:
    given = [name for name in OURS if config.is_given(name)]
    if given:
        raise CliError(
            f"{given[0]} cannot be set for several brokers at once.",
            cause="each broker of the cluster has its own; `tidelog up` chooses it.",
            attempt="leave it out, or run each broker on its own: tidelog broker --config FILE",
            code=Exit.USAGE,
        )
    if len(config.listeners()) > 1:
        raise CliError(
            f"Several brokers on one machine cannot have {len(config.listeners())} listeners each.",
            attempt="one listener, or run each broker on its own: tidelog broker --config FILE",
            code=Exit.USAGE,
        )


def _refuse_single_broker(data: str) -> None:
    if os.path.exists(os.path.join(data, "meta.properties")):
        raise CliError(
            f"{data} holds the data of a single broker.",
            cause="a cluster keeps each broker's data in a subdirectory.",
            attempt="tidelog up --brokers N --data DIR elsewhere, or tidelog up without --brokers",
            code=Exit.USAGE,
        )


def _new_id() -> str:
    return uuid_text(uuid_from_random(os.urandom(16)))
