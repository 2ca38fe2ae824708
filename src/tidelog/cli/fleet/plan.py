"""Which brokers a cluster on this machine has: ids, ports, log dirs, voters, and the settings of each."""

import errno
import os
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import uuid_from_random, uuid_text
from tidelog.base.listener import Listener
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet.record import Recorded
from tidelog.cli.security.secured_settings import without_own
from tidelog.cli.up.ports import METRICS, REGISTRY, http_ports, metrics_url, registry_url
from tidelog.cli.up.settings import given_config
from tidelog.server.free_ports import bound, free_ports

if TYPE_CHECKING:
    from tidelog.cli.security.local import LocalSecurity

VOTERS_MAX = 5
REPLICAS = 3
OURS = ("node.id", "log.dirs", "controller.quorum.voters", "broker.machine")


@dataclass(frozen=True, slots=True)
class MemberPlan:
    id: int
    listener: Listener
    advertised: Listener
    log_dir: str
    broker_port: int | None = None
    """Of the listener that brokers have for themselves, in a secured cluster."""
    metrics_port: int = 0
    registry_port: int = 0

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

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(member.address for member in self.members)

    @property
    def broker_addresses(self) -> str:
        return ",".join(member.broker_address for member in self.members)

    @property
    def metrics_urls(self) -> list[str]:
        """Where the brokers serve their metrics, as far as it is known before they start."""
        ports = [member.metrics_port for member in self.members]
        return [metrics_url(self.config, port) for port in ports if port > 0]

    @property
    def registry_urls(self) -> list[str]:
        """Where the brokers serve the schema registry, as far as it is known before they start."""
        ports = [member.registry_port for member in self.members]
        is_secured = self.security is not None and not self.config.is_given(f"{REGISTRY}.security.protocol")
        return [registry_url(self.config, port, has_tls=is_secured) for port in ports if port > 0]

    @property
    def arguments(self) -> tuple[str, ...]:
        """Flags of each broker's command beside its settings."""
        return ()

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
    if recorded is None:
        _refuse_single_broker(data)
        count = brokers or 1
        ports = _ports(listener, port, count)
        recorded = Recorded(wanted_id or _new_id(), ports, list(voter_ids(count)))
    else:
        recorded = _grown(recorded, brokers, port, listener, data)
        if wanted_id not in (None, recorded.cluster_id):
            raise CliError(
                f"{data} holds cluster {recorded.cluster_id}, not {wanted_id}.",
                attempt="another directory with --data, or leave cluster.id out",
                code=Exit.USAGE,
            )
    for_metrics, for_registry = (
        http_ports(config, what, len(recorded.ports), any_free=port == 0) for what in (METRICS, REGISTRY)
    )
    members = tuple(
        MemberPlan(
            id,
            listener._replace(port=port),
            config.advertised_listeners()[0]._replace(port=port),
            os.path.join(data, f"node-{id}"),
            metrics_port=metrics_port,
            registry_port=registry_port,
        )
        for id, (port, metrics_port, registry_port) in enumerate(
            zip(recorded.ports, for_metrics, for_registry, strict=True), 1
        )
    )
    return FleetPlan(data, recorded, is_new, members, config, file, dict(flags))


def voter_ids(brokers: int) -> range:
    """An odd number, up to five: an even one bears no greater loss, and more only makes changes slower."""
    votes = min(brokers, VOTERS_MAX)
    return range(1, votes + votes % 2)


def stop_order(ids: Iterable[int], voters: Container[int], controller: int | None) -> list[int]:
    """The controller last: it must be there when the others hand their partitions over. It stays one only
    while more than half of the voters are up, so those without a vote go first."""
    return sorted(ids, key=lambda id: (id in voters, id == controller, id))


def _grown(
    recorded: Recorded, brokers: int | None, port: int | None, listener: Listener, data: str
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
    first = max(recorded.ports) + 1
    in_a_row = recorded.ports == list(range(recorded.ports[0], recorded.ports[0] + known))
    ports = list(range(first, first + more)) if in_a_row else free_ports(listener.host, more)
    return Recorded(recorded.cluster_id, [*recorded.ports, *ports], recorded.voters)


def _ports(listener: Listener, port: int | None, count: int) -> list[int]:
    first = listener.port if port is None else port
    if first == 0:
        return free_ports(listener.host, count)
    if first + count - 1 > 65535:
        raise CliError(
            f"{count} brokers from port {first} on would end at {first + count - 1}; 65535 is the last port.",
            attempt="--port 9092",
            code=Exit.USAGE,
        )
    return list(range(first, first + count))


def refuse_taken_ports(plan: FleetPlan) -> None:
    """Before anything is started: one broker without its port would leave half a cluster."""
    taken = []
    own = [Listener("", "localhost", member.broker_port) for member in plan.members if member.broker_port]
    for listener in (*(member.listener for member in plan.members), *own):
        try:
            bound(listener.host, listener.port).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CliError(f"Cannot listen at {listener}: {error.strerror}.") from error
            taken.append(listener.port)
    if not taken:
        return
    ports = ", ".join(map(str, taken))
    word = "Port" if len(taken) == 1 else "Ports"
    free = f"tidelog up --brokers {len(plan.members)} --port {max(taken) + 1}, or --port 0 for free ones"
    between = [port for port in taken if port in {listener.port for listener in own}]
    if between:
        ports = ", ".join(map(str, between))
        raise CliError(
            f"{'Port' if len(between) == 1 else 'Ports'} {ports}, where the brokers meet each other, "
            f"{'is' if len(between) == 1 else 'are'} taken.",
            cause="this cluster runs already, or another program listens there.",
            attempt=f"lsof -i :{between[0]} names the program; stop it: the brokers know each other by these "
            "ports, which --port does not change",
        )
    raise CliError(
        f"{word} {ports} of {plan.bootstrap_servers} {'is' if len(taken) == 1 else 'are'} taken.",
        cause="other brokers, or other programs, run there.",
        attempt=free if plan.is_new else "stop what runs there: this cluster's brokers belong to these ports",
    )


def _refuse_own_settings(config: BrokerConfig) -> None:
    if config.text("broker.cores") != "1":
        raise CliError(
            "`tidelog up --brokers` runs each broker on one core.",
            cause="each of them stands for a machine, and a machine's cores have a supervisor of their own.",
            attempt="tidelog up --cores N, which is one machine; or several, each with settings of its own: "
            "tidelog broker --config FILE --cores N",
            code=Exit.USAGE,
        )
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
