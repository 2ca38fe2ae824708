"""`tidelog up`: one broker in the foreground, from its settings to the signal that stops it.

Nothing here may slow the start: no rich, no client library, and the node only once the settings are right.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session, json_option, parse_pair, pass_session

if TYPE_CHECKING:
    from tidelog.base.config import BrokerConfig
    from tidelog.node import Node

DEFAULT_DATA = "data"


def _complete_setting(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from tidelog.cli.config_table import known_settings

    return [f"{name}=" for name in known_settings("broker") if name.startswith(incomplete)]


@click.command()
@click.option(
    "-d",
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help=f"The folder for everything it keeps. [default: ./{DEFAULT_DATA}]",
)
@click.option(
    "-p",
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Where it listens; 0 takes a free port. [default: 9092]",
)
@click.option(
    "-c", "--config", "file", metavar="FILE", type=click.Path(dir_okay=False), help="Settings as YAML."
)
@click.option(
    "-s",
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=_complete_setting,
    help="A broker setting. Repeatable.",
)
@click.option(
    "--ready-file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Written once the broker answers, with its address as JSON; removed when it stops.",
)
@click.option("--demo", is_flag=True, help="Create a topic, write a record and read it back, to see it work.")
@json_option
@pass_session
def up(
    session: Session,
    data: str | None,
    port: int | None,
    file: str | None,
    values: tuple[str, ...],
    ready_file: str | None,
    demo: bool,
) -> int:
    """Run a broker in the foreground.

    Ctrl-C or SIGTERM stops it cleanly: requests under way are answered, everything is written.
    A second Ctrl-C stops it at once.

    \b
    tidelog up                                     # localhost:9092, data in ./data
    tidelog up --data /var/lib/tidelog --set log.retention.ms=7d
    tidelog up --config broker.yaml --port 0 --ready-file /tmp/broker.json
    """
    from tidelog.cli.up_settings import broker_config
    from tidelog.server.event_loop import loop_factory
    from tidelog.server.logging_setup import set_up_logging

    config = broker_config(file, data, port, dict(map(parse_pair, values)))
    set_up_logging(config.text("logging.level"), config.text("logging.format"))
    running = Running(config, session, ready_file, demo)
    with asyncio.Runner(loop_factory=loop_factory(config.text("event.loop"))) as runner:
        return runner.run(running.until_stopped())


class Running:
    """A broker's life, and what the person at the terminal sees of it."""

    def __init__(self, config: "BrokerConfig", session: Session, ready_file: str | None, demo: bool) -> None:
        self.config = config
        self.json = session.json
        self.ready_file = ready_file
        self.demo = demo
        self._stop = asyncio.Event()
        self._signals = 0

    async def until_stopped(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        node = await self._start()
        try:
            self._announce(node)
            await self._serve(node)
        finally:
            await self._end(node)
        return Exit.OK

    async def _start(self) -> "Node":
        from tidelog.base.errors import TidelogError
        from tidelog.node import Node

        node = Node(self.config)
        try:
            await node.start()
        except (OSError, TidelogError) as error:
            from tidelog.cli.up_failures import start_failure

            raise start_failure(error, self.config) from error
        return node

    async def _serve(self, node: "Node") -> None:
        if not self.demo:
            await self._stop.wait()
            return
        # A process of its own: the client library would stay in the broker's memory.
        command = (sys.executable, "-m", "tidelog.cli.demo", node.bootstrap_servers)
        shown = await asyncio.create_subprocess_exec(*command)
        stopped = asyncio.ensure_future(self._stop.wait())
        finished = asyncio.ensure_future(shown.wait())
        await asyncio.wait({stopped, finished}, return_when=asyncio.FIRST_COMPLETED)
        if not finished.done():
            shown.kill()
            await finished
        elif shown.returncode:
            stopped.cancel()
            raise CliError("The broker runs, but its demonstration failed; see above.")
        await stopped

    def _announce(self, node: "Node") -> None:
        facts = {
            "event": "ready",
            "bootstrap_servers": node.bootstrap_servers,
            "port": node.port,
            "pid": os.getpid(),
            "data": list(self.config.list("log.dirs")),
            "durability": self.config.text("durability"),
        }
        if self.ready_file is not None:
            with open(self.ready_file + ".tmp", "w") as file:
                json.dump(facts, file)
            os.replace(self.ready_file + ".tmp", self.ready_file)
        if self.json:
            print(json.dumps(facts), flush=True)
        else:
            from tidelog.cli.banner import banner

            click.echo(banner(facts, self.config.warnings, started_s=_age_s()))
            sys.stdout.flush()

    async def _end(self, node: "Node") -> None:
        began = time.monotonic()
        await node.stop()
        if self.ready_file is not None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.ready_file)
        seconds = time.monotonic() - began
        if self.json:
            print(json.dumps({"event": "stopped", "seconds": round(seconds, 3)}), flush=True)
        else:
            click.echo(f"Stopped cleanly in {seconds:.2f} s.")

    def _on_signal(self, number: int) -> None:
        self._signals += 1
        if self._signals > 1:
            os._exit(128 + number)  # asked twice: the next start will scan what was not flushed
        self._stop.set()
        if not self.json:
            click.echo("\nStopping: requests under way are answered first. Ctrl-C again stops at once.")


def _age_s() -> float | None:
    """Seconds since this process began, as the system counts them; None where it does not say."""
    try:
        with open("/proc/self/stat") as file:
            began_ticks = int(file.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime") as file:
            return max(0.0, float(file.read().split()[0]) - began_ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None
