"""Refuses a start where a port of any core is taken: one core without its port would leave half a machine."""

import errno

from tidelog.base.listener import Listener
from tidelog.cli.cores.plan import CoresPlan
from tidelog.cli.exits import CliError
from tidelog.cli.fleet.core_numbers import port_row, row_text
from tidelog.server.free_ports import bound


def refuse_taken_ports(plan: CoresPlan) -> None:
    for core, member in enumerate(plan.members):
        for listener in plan.listeners_of(core).values():
            try:
                bound(listener.host, listener.port).close()
            except OSError as error:
                raise _refusal(plan, core, member.id, listener, error) from error


def _refusal(plan: CoresPlan, core: int, id: int, listener: Listener, error: OSError) -> CliError:
    if error.errno != errno.EADDRINUSE:
        return CliError(f"Core {core} (broker {id}) cannot listen at {listener}: {error.strerror}.")
    count = len(plan.members)
    row = port_row(listener.port - core * plan.port_step, count, plan.port_step)
    return CliError(
        f"Port {listener.port} of core {core} (broker {id}, listener {listener.name}) is taken.",
        cause=f"this machine runs already, or another program listens there: each listener needs "
        f"{row_text(count, plan.port_step)}, here {row[0]} to {row[-1]}.",
        attempt=f"lsof -i :{listener.port} names the program; stop it, or give listeners other ports",
    )
