"""What `tidelog up` says of a cluster: to people in sentences, to machines as one JSON object a line."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from tidelog import __version__
from tidelog.cli.fleet.log import CombinedLog
from tidelog.cli.fleet.plan import FleetPlan
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
            click.echo(f"Starting {len(self.plan.members)} brokers at {self.plan.bootstrap_servers}")

    def ready(self, facts: Mapping[str, Any], started_s: float | None) -> None:
        if self.json:
            self._event(facts)
        else:
            click.echo(banner(self.plan, started_s))
            sys.stdout.flush()

    def ended(
        self, broker: int, how: str, code: int, last_lines: Sequence[str], wait_s: float | None
    ) -> None:
        if self.json:
            self._event(
                {
                    "event": "broker_ended",
                    "broker": broker,
                    "exit_code": code,
                    "last_lines": list(last_lines),
                    "restart_in_s": wait_s,
                }
            )
            return
        after = (
            "The others keep running."
            if wait_s is None
            else f"It restarts in {wait_s:g} s; the others keep running."
        )
        if code == 0:  # a rolling restart by hand: it was told to stop, and nothing is wrong
            self._note(broker, [f"Broker {broker} was stopped from outside. {after}"])
            return
        lines = [f"Broker {broker} exited unexpectedly ({how}). {after}"]
        if last_lines:
            lines += ["Its last lines:", *(f"    {line}" for line in last_lines)]
        self._note(broker, lines)

    def restarted(self, broker: int, pid: int | None) -> None:
        if self.json:
            self._event({"event": "broker_restarted", "broker": broker, "pid": pid})
        else:
            self._note(broker, [f"Broker {broker} answers again (process {pid})."])

    def stopping(self) -> None:
        if not self.json:
            click.echo("\nStopping the brokers one after the other. Press Ctrl-C again to stop all at once.")

    def killed(self, broker: int, seconds: float) -> None:
        if self.json:
            self._event({"event": "broker_killed", "broker": broker, "after_s": round(seconds, 3)})
        else:
            self._note(broker, [f"Broker {broker} did not stop within {seconds:.0f} s and was killed."])

    def stopped(self, seconds: float, clean: bool) -> None:
        if self.json:
            self._event({"event": "stopped", "seconds": round(seconds, 3), "clean": clean})
        else:
            how, after = ("", "") if clean else ("not ", " The next start recovers what was not flushed.")
            click.echo(f"Stopped {how}cleanly in {seconds:.2f} s.{after}")

    def _note(self, broker: int, lines: Sequence[str]) -> None:
        for line in lines:
            self.log.write(broker, line)

    def _event(self, facts: Mapping[str, Any]) -> None:
        print(json.dumps(facts), flush=True)


def banner(plan: FleetPlan, started_s: float | None) -> str:
    took = "" if started_s is None else f" after {started_s:.2f} s"
    first = plan.members[0].address
    flag = "" if first == "localhost:9092" else f" -b {first}"
    secured = plan.security.facts() if plan.security is not None else {}
    flag = context_flag(secured) or flag
    command = command_name()
    replicas = plan.settings_of(plan.members[0]).get("default.replication.factor")
    copies = replicas or str(plan.config.int("default.replication.factor"))
    lines = [
        "",
        f"  {bold(f'Tidelog {__version__}')}, a cluster of {len(plan.members)} brokers, answers{took}",
        "",
        *(
            f"  Broker {member.id:<4} {bold(member.address)}  {short_path(member.log_dir)}"
            for member in plan.members
        ),
        f"  Replicas    {copies} of each partition by default",
        f"  Durability  {PROMISES[plan.config.text('durability')]}",
        *metrics_lines(plan.metrics_urls),
        *registry_lines(plan.registry_urls),
        *(f"  Note        {warning}" for warning in plan.config.warnings),
        *security_lines(secured),
        "",
        "  Try in another terminal:",
        f"    {command} cluster status{flag}",
        f"    {command} topic create greetings{flag}",
        f"    {command} produce greetings 'Hello, Tidelog'{flag}",
        f"    {command} consume greetings{flag}",
        "",
        "  Ctrl-C stops the brokers, one after the other.",
        "",
    ]
    return "\n".join(lines)


def ready_facts(plan: FleetPlan, pids: Mapping[int, int | None]) -> dict[str, Any]:
    return {
        "event": "ready",
        "bootstrap_servers": plan.bootstrap_servers,
        **({"cluster_id": plan.recorded.cluster_id} if plan.recorded.cluster_id else {}),
        "pid": os.getpid(),
        "data": [member.log_dir for member in plan.members],
        "durability": plan.config.text("durability"),
        "metrics": plan.metrics_urls,
        "schema_registry": plan.registry_urls,
        "brokers": [
            {
                "node_id": member.id,
                "bootstrap_servers": member.address,
                "port": member.listener.port,
                "pid": pids.get(member.id),
                "data": member.log_dir,
            }
            for member in plan.members
        ],
        **(plan.security.facts() if plan.security is not None else {}),
    }
