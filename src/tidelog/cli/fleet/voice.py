"""What `tidelog up` says of a cluster: to people in sentences, to machines as one JSON object a line."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from tidelog import __version__
from tidelog.cli.fleet.core_numbers import core_id, port_row
from tidelog.cli.fleet.events import Event, event_lines
from tidelog.cli.fleet.log import CombinedLog, unless_unheard
from tidelog.cli.fleet.plan import FleetPlan, MemberPlan
from tidelog.cli.log.core_dirs import core_log_dir
from tidelog.cli.up.banner import (
    PROMISES,
    bold,
    command_name,
    context_flag,
    metrics_lines,
    registry_lines,
    security_lines,
    short_path,
)


class Voice:
    def __init__(self, plan: FleetPlan, as_json: bool) -> None:
        self.plan = plan
        self.json = as_json
        self.log = CombinedLog(len(plan.members))

    def starting(self) -> None:
        if not self.json:
            self._say(f"Starting {_counted(self.plan)} at {self.plan.bootstrap_servers}")

    def ready(self, facts: Mapping[str, Any], started_s: float | None) -> None:
        if self.json:
            self._event(facts)
        else:
            self._say(banner(self.plan, started_s))

    def happened(self, member: MemberPlan, event: Event) -> None:
        if self.json:
            self._event(event)
        else:
            self._note(member.id, event_lines(event))

    def relay(self, machine: MemberPlan, event: Event) -> None:
        """What a machine says of its cores, each a broker."""
        self.happened(machine, {**event, "machine": str(machine.id)})

    def stopping(self) -> None:
        if not self.json:
            what = "machines" if self.plan.cores > 1 else "brokers"
            self._say(f"\nStopping the {what} one after the other. Press Ctrl-C again to stop all at once.")

    def stopped(self, seconds: float, clean: bool) -> None:
        if self.json:
            self._event({"event": "stopped", "seconds": round(seconds, 3), "clean": clean})
        else:
            how, after = ("", "") if clean else ("not ", " The next start recovers what was not flushed.")
            self._say(f"Stopped {how}cleanly in {seconds:.2f} s.{after}")

    def _note(self, broker: int, lines: Sequence[str]) -> None:
        for line in lines:
            self.log.write(broker, line)

    def _event(self, facts: Mapping[str, Any]) -> None:
        self._say(json.dumps(facts))

    def _say(self, text: str) -> None:
        with unless_unheard():
            click.echo(text)


def banner(plan: FleetPlan, started_s: float | None) -> str:
    took = "" if started_s is None else f" after {started_s:.2f} s"
    first = plan.members[0].address
    flag = "" if first == "localhost:9092" else f" -b {first}"
    secured = plan.security.facts() if plan.security is not None else {}
    flag = context_flag(secured) or flag
    command = command_name()
    replicas = plan.settings_of(plan.members[0]).get("default.replication.factor")
    partitions = f" --partitions {2 * plan.cores * len(plan.members)}" if plan.cores > 1 else ""
    copies = replicas or str(plan.config.int("default.replication.factor"))
    lines = [
        "",
        f"  {bold(f'Tidelog {__version__}')}, a cluster of {_counted(plan)}, answers{took}",
        "",
        *(line for member in plan.members for line in _member_lines(member, plan.cores)),
        f"  Replicas    {copies} of each partition by default",
        f"  Durability  {PROMISES[plan.config.text('durability')]}",
        *metrics_lines(plan.metrics_urls),
        *registry_lines(plan.registry_urls),
        *(f"  Note        {warning}" for warning in plan.config.warnings),
        *security_lines(secured),
        "",
        "  Try in another terminal:",
        f"    {command} cluster status{flag}",
        f"    {command} topic create greetings{partitions}{flag}",
        f"    {command} produce greetings 'Hello, Tidelog'{flag}",
        f"    {command} consume greetings{flag}",
        "",
        f"  Ctrl-C stops the {'machines' if plan.cores > 1 else 'brokers'}, one after the other.",
        "",
    ]
    return "\n".join(lines)


def _counted(plan: FleetPlan) -> str:
    count = len(plan.members)
    return f"{count} brokers" if plan.cores == 1 else f"{count} machines with {plan.cores} cores each"


def _member_lines(member: MemberPlan, cores: int) -> Iterator[str]:
    """Of a machine, one for each core that shall serve; others leave."""
    if cores == 1:
        yield f"  Broker {member.id:<4} {bold(member.address)}  {short_path(member.log_dir)}"
        return
    for core, port in enumerate(port_row(member.advertised.port, cores)):
        at = replace(member, advertised=member.advertised._replace(port=port)).address
        name = f"Machine {member.id}" if core == 0 else ""
        path = short_path(core_log_dir(member.log_dir, core))
        yield f"  {name:<11} broker {core_id(member.id, core):<6} {bold(at)}  {path}"


def ready_facts(
    plan: FleetPlan, pids: Mapping[int, int | None], cores: Mapping[int, Sequence[Event] | None]
) -> dict[str, Any]:
    """`cores` are the brokers of a machine, as it says itself; there are none of it while it is down. None of
    one that came back as a single broker, since its further cores have left."""

    def brokers_of(member: MemberPlan) -> Sequence[Event]:
        one = [_broker_facts(member, pids.get(member.id))]
        if member.cores == 1:
            return one
        found = cores.get(member.id, ())
        return one if found is None else found

    machines = [
        {
            "machine": str(member.id),
            "pid": pids.get(member.id),
            "brokers": [core["node_id"] for core in brokers_of(member)],
        }
        for member in plan.members
        if member.cores > 1
    ]
    return {
        "event": "ready",
        "bootstrap_servers": plan.bootstrap_servers,
        **({"cluster_id": plan.recorded.cluster_id} if plan.recorded.cluster_id else {}),
        "pid": os.getpid(),
        "data": [member.log_dir for member in plan.members],
        "durability": plan.config.text("durability"),
        "metrics": plan.metrics_urls,
        "schema_registry": plan.registry_urls,
        "brokers": [core for member in plan.members for core in brokers_of(member)],
        **({"machines": machines} if machines else {}),
        **(plan.security.facts() if plan.security is not None else {}),
    }


def _broker_facts(member: MemberPlan, pid: int | None) -> dict[str, Any]:
    return {
        "node_id": member.id,
        "bootstrap_servers": member.address,
        "port": member.listener.port,
        "pid": pid,
        "data": member.log_dir,
    }
