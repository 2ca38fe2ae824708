"""What `--cores` says of a machine: one entry, which unfolds into its cores."""

from collections.abc import Mapping, Sequence
from typing import Any

from tidelog import __version__
from tidelog.cli.cluster.view import numbers_text
from tidelog.cli.cores.json_log import JsonLog
from tidelog.cli.cores.plan import CoresPlan
from tidelog.cli.exits import CliError
from tidelog.cli.fleet.log import CombinedLog
from tidelog.cli.fleet.voice import Voice
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


class CoresVoice(Voice):
    """Lines of the log begin with the number of the core, from 0 on."""

    def __init__(self, plan: CoresPlan, as_json: bool) -> None:
        super().__init__(plan, as_json)
        numbers = {member.id: core for core, member in enumerate(plan.members)}
        kind = JsonLog if plan.config.text("logging.format") == "json" else CombinedLog
        self.log = kind(len(plan.members) - 1, numbers=numbers)
        self._cores = plan

    def starting(self) -> None:
        if not self.json:
            self._say(f"Starting {_counted(len(self._cores.members))} at {self.plan.bootstrap_servers}")

    def ready(self, facts: Mapping[str, Any], started_s: float | None) -> None:
        if self.json:
            self._event(facts)
        else:
            self._say(_banner(self._cores, started_s))

    def stopping(self) -> None:
        if not self.json:
            self._say("\nStopping all cores, the first one last. Press Ctrl-C again to kill them.")

    def moved(self, text: str) -> None:
        self.happened(self.plan.members[0], {"event": "moves", "message": text})

    def left(self, broker: int, text: str) -> None:
        self.happened(self.plan.members[0], {"event": "broker_left", "broker": broker, "message": text})


def why_unchanged(error: BaseException, leaving: Sequence[int], wait_s: float) -> str:
    """Replicas could not be moved: who serves on, why, when it is tried again, and what a person can do."""
    if leaving:
        what = f"Cores that are to leave still hold replicas, and serve them: {numbers_text(leaving)}."
    else:
        what = "New cores are not filled yet."
    reason = error.message if isinstance(error, CliError) else f"{type(error).__name__}: {error}"
    parts = [what, reason]
    if isinstance(error, CliError) and error.cause:
        parts.append(f"Cause: {error.cause}")
    parts.append(f"Next try in {wait_s:.0f} s, and at the next start.")
    if isinstance(error, CliError) and error.attempt:
        parts.append(f"Try: {error.attempt}")
    return " ".join(parts)


def _counted(cores: int) -> str:
    return f"{cores} core{'s' if cores != 1 else ''}"


def _banner(plan: CoresPlan, started_s: float | None) -> str:
    took = "" if started_s is None else f" after {started_s:.2f} s"
    servers = plan.bootstrap_servers
    flag = "" if servers == "localhost:9092" else f" -b {servers}"
    secured = plan.security.facts() if plan.security is not None else {}
    flag = context_flag(secured) or flag
    command = command_name()
    serving = plan.members[: plan.count]
    lines = [
        "",
        f"  {bold(f'Tidelog {__version__}')} answers at {bold(servers)}{took}, with {_counted(len(serving))}",
        "",
        *(
            f"  Core {core:<6} broker {member.id:<6} {member.address}  {short_path(member.log_dir)}"
            for core, member in enumerate(serving)
        ),
        f"  Durability  {PROMISES[plan.config.text('durability')]}",
        *metrics_lines(plan.metrics_urls),
        *registry_lines(plan.registry_urls),
        *(f"  Note        {warning}" for warning in plan.config.warnings),
        *security_lines(secured),
        "",
        "  Try in another terminal:",
        f"    {command} cluster status{flag}",
        f"    {command} topic create greetings --partitions {2 * len(serving)}{flag}",
        f"    {command} produce greetings 'Hello, Tidelog'{flag}",
        f"    {command} consume greetings{flag}",
        "",
        "  Ctrl-C stops all cores.",
        "",
    ]
    return "\n".join(lines)
