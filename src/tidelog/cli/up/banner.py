"""What `tidelog up` shows once the broker answers: where it is, where its data is, and what to try."""

import os
import sys
from collections.abc import Mapping, Sequence
from shutil import which
from typing import Any

import click

from tidelog import __version__
from tidelog.cli.session import DEFAULT_SERVERS

PROMISES = {
    "fsync": "fsync (a record acknowledged with acks=all is on disk)",
    "interval": "interval (written at once, on disk shortly after)",
    "os": "os (written at once; the operating system decides when it is on disk)",
}


def banner(facts: Mapping[str, Any], warnings: Sequence[str], started_s: float | None) -> str:
    servers = facts["bootstrap_servers"]
    took = "" if started_s is None else f" after {started_s:.2f} s"
    flag = "" if servers == DEFAULT_SERVERS else f" -b {servers}"
    flag = context_flag(facts) or flag
    command = command_name()
    lines = [
        "",
        f"  {bold(f'Tidelog {__version__}')} answers at {bold(servers)}{took}",
        "",
        *_membership(facts),
        f"  Data        {', '.join(map(short_path, facts['data']))}",
        f"  Durability  {PROMISES[facts['durability']]}",
        *metrics_lines(facts.get("metrics", ())),
        *registry_lines(facts.get("schema_registry", ())),
        *(f"  Note        {warning}" for warning in warnings),
        *security_lines(facts),
        "",
        "  Try in another terminal:",
        f"    {command} topic create greetings{flag}",
        f"    {command} produce greetings 'Hello, Tidelog'{flag}",
        f"    {command} consume greetings{flag}",
        "",
        "  Ctrl-C stops the broker.",
        "",
    ]
    return "\n".join(lines)


def metrics_lines(urls: Sequence[str]) -> list[str]:
    return [f"  Metrics     {', '.join(urls)}"] if urls else []


def registry_lines(urls: Sequence[str]) -> list[str]:
    return [f"  Schemas     {', '.join(urls)}"] if urls else []


def context_flag(facts: Mapping[str, Any]) -> str:
    """For commands to a secured cluster; its context has this name, or can be given it."""
    return f" --context {facts.get('context', 'local')}" if "security" in facts else ""


def security_lines(facts: Mapping[str, Any]) -> list[str]:
    """Of a secured cluster: where the client files are. They hold the password; the screen does not."""
    if "security" not in facts:
        return []
    path = short_path(facts["security"])
    save = (
        f"              {command_name()} context add local --from {path}/client.properties  saves the context"
    )
    return [
        "  Security    TLS and passwords for clients, certificates between brokers, ACLs for all users",
        f"  Clients     {path}/client.properties       librdkafka: kcat -F {path}/client.properties -L",
        f"              {path}/client-java.properties  Java, and Kafka's tools with --command-config",
        f"              {path}/spark-options.yaml      Spark and pipelines",
        f"              they log in as '{facts['user']}', who may do everything; keep them to yourself",
        *([] if "context" in facts else [save]),
    ]


def _membership(facts: Mapping[str, Any]) -> list[str]:
    """Of a broker that is not its own and only voter."""
    id, voters = facts["node_id"], facts["voters"]
    if voters == [id]:
        return []
    role = "a voter" if id in voters else "without a vote"
    those = (
        f"the voters are {', '.join(map(str, voters))}" if len(voters) > 1 else f"the voter is {voters[0]}"
    )
    return [f"  Broker      {id}, {role}; {those}"]


def command_name() -> str:
    """What to type in this directory to run this very installation: one in a .venv may not be on the PATH."""
    this = os.path.abspath(sys.argv[0])
    found = which("tidelog")
    if found is None or not os.path.exists(this):
        return "tidelog" if found or os.path.basename(this) != "tidelog" else os.path.relpath(this)
    return "tidelog" if os.path.samefile(found, this) else os.path.relpath(this)


def bold(text: str) -> str:
    return text if os.environ.get("NO_COLOR") else click.style(text, bold=True)


def short_path(path: str) -> str:
    """Relative where that is shorter to read."""
    inside = os.path.relpath(path)
    return path if inside.startswith("..") else f"./{inside}"
