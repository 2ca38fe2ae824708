"""The ports of a cluster on one machine: chosen once, counted up as it grows, refused where one is taken."""

import errno
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.base.listener import Listener
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.fleet.core_numbers import PORT_STEP, port_row
from tidelog.server.free_ports import PORT_MAX, bound, free_ports

if TYPE_CHECKING:
    from tidelog.cli.fleet.plan import FleetPlan


def first_ports(listener: Listener, port: int | None, brokers: int, cores: int) -> list[int]:
    first = listener.port if port is None else port
    if first == 0:
        return free_ports(listener.host, brokers, in_a_row=cores, step=PORT_STEP)
    return list(range(first, first + brokers))


def more_ports(known: list[int], listener: Listener, more: int, cores: int) -> list[int]:
    """For brokers that join: the next ports, or free ones beside others that do not lie in a row."""
    first = max(known) + 1
    if known == list(range(known[0], known[0] + len(known))):
        return list(range(first, first + more))
    return free_ports(listener.host, more, in_a_row=cores, step=PORT_STEP)


def refuse_ports_beyond_the_last(ports: list[int], cores: int, *, is_new: bool = True) -> None:
    last = port_row(max(ports), cores)[-1]
    if last > PORT_MAX:
        of = "" if cores == 1 else f" of {cores} cores"
        raise CliError(
            f"{len(ports)} brokers{of} from port {ports[0]} on would end at {last}; {PORT_MAX} is the last "
            "port.",
            attempt="--port 9092" if is_new else "fewer of them: the cluster keeps the ports that it has",
            code=Exit.USAGE,
        )


def refuse_taken_ports(plan: "FleetPlan") -> None:
    """Before anything is started: one broker without its port would leave half a cluster."""
    taken = []
    wanted = dict[int, Listener]()
    for listener in _listeners(plan):
        if listener.port in wanted:
            raise CliError(
                f"Two brokers of this cluster want port {listener.port}, for {wanted[listener.port]} and for "
                f"{listener}.",
                cause=f"each further core of a machine listens {PORT_STEP} ports higher.",
                attempt="fewer cores, or another port: --port 9092 in an empty directory",
                code=Exit.USAGE,
            )
        wanted[listener.port] = listener
        try:
            bound(listener.host, listener.port).close()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise CliError(f"Cannot listen at {listener}: {error.strerror}.") from error
            taken.append(listener.port)
    if taken:
        raise _refusal(plan, taken)


def _listeners(plan: "FleetPlan") -> Iterator[Listener]:
    """Those of clients, of every core, then those that brokers have for themselves."""
    for member in plan.members:
        for port in port_row(member.listener.port, member.cores):
            yield member.listener._replace(port=port)
    for member in plan.members:
        if member.broker_port:
            for port in port_row(member.broker_port, member.cores):
                yield Listener("", "localhost", port)


def _refusal(plan: "FleetPlan", taken: list[int]) -> CliError:
    own = {
        port
        for member in plan.members
        if member.broker_port
        for port in port_row(member.broker_port, member.cores)
    }
    if between := [port for port in taken if port in own]:
        ports = ", ".join(map(str, between))
        return CliError(
            f"{'Port' if len(between) == 1 else 'Ports'} {ports}, where the brokers meet each other, "
            f"{'is' if len(between) == 1 else 'are'} taken.",
            cause="this cluster runs already, or another program listens there.",
            attempt=f"lsof -i :{between[0]} names the program; stop it: the brokers know each other by these "
            "ports, which --port does not change",
        )
    ports = ", ".join(map(str, taken))
    flags = f"--brokers {len(plan.members)}" + (f" --cores {plan.cores}" if plan.cores > 1 else "")
    free = f"tidelog up {flags} --port {max(taken) + 1}, or --port 0 for free ones"
    known = "stop what runs there: this cluster's brokers belong to these ports"
    before = {port for first in plan.recorded.ports for port in port_row(first, plan.cores_before)}
    if plan.cores > plan.cores_before and before.isdisjoint(taken):
        known = f"stop what runs there, or stay with --cores {plan.cores_before}"
    further = f"; each further core of a machine listens {PORT_STEP} ports higher"
    return CliError(
        f"{'Port' if len(taken) == 1 else 'Ports'} {ports} of {plan.bootstrap_servers} "
        f"{'is' if len(taken) == 1 else 'are'} taken.",
        cause="other brokers, or other programs, run there"
        f"{'' if set(plan.recorded.ports).issuperset(taken) else further}.",
        attempt=free if plan.is_new else known,
    )
