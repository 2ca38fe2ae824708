"""One broker's life in the foreground, and what the person at the terminal sees of it.

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
from tidelog.cli.stop_signals import StopSignal, StopSignals
from tidelog.cli.up.ready_file import remove_ready_file, write_ready_file

if TYPE_CHECKING:
    from tidelog.base.config.config import BrokerConfig
    from tidelog.cli.security.local import LocalSecurity
    from tidelog.node.node import BrokerNode
    from tidelog.server.service_manager import ServiceManager

FAILURE_CHECK_S = 1.0
CONFIRM_TIMEOUT_S = 30.0


class Running:
    def __init__(
        self,
        config: "BrokerConfig",
        *,
        as_json: bool,
        ready_file: str | None,
        demo: bool = False,
        demo_pipeline: bool = False,
        until_stdin_closes: bool = False,
        security: "LocalSecurity | None" = None,
        beats: bool = False,
    ) -> None:
        self.config = config
        self.json = as_json
        self.ready_file = ready_file
        self.demo = demo or demo_pipeline
        self.demo_pipeline = demo_pipeline
        self.until_stdin_closes = until_stdin_closes
        self.security = security
        self.beats = beats
        self._stop = asyncio.Event()
        self._signals = StopSignals()
        self._manager: ServiceManager | None = None

    def run(self) -> int:
        from tidelog.server.event_loop import loop_factory
        from tidelog.server.logging_setup import set_up_logging

        set_up_logging(self.config.text("logging.level"), self.config.text("logging.format"))
        with asyncio.Runner(loop_factory=loop_factory(self.config.text("event.loop"))) as runner:
            return runner.run(self.until_stopped())

    async def until_stopped(self) -> int:
        from tidelog.server.garbage import ShortCollections

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal, number)
        if self.until_stdin_closes:
            loop.add_reader(0, self._on_stdin)
        if "NOTIFY_SOCKET" in os.environ:
            from tidelog.server.service_manager import ServiceManager

            self._manager = ServiceManager.of_environment(os.environ)
        if self._manager is not None:
            self._manager.starting()
        node = await self._start()
        if node is None:
            return Exit.OK
        try:
            ShortCollections().begin()
            await self._confirm_security(node)
            self._announce(node)
            beating = self._beating()
            await self._serve(node)
        finally:
            await self._end(node)
        if beating is not None:
            beating.cancel()
        return Exit.OK

    async def _start(self) -> "BrokerNode | None":
        """Returns None after a stop signal before the start: a cluster's broker may wait long for others."""
        from tidelog.base.errors import TidelogError
        from tidelog.node.node import BrokerNode

        node = BrokerNode(self.config)
        starting = asyncio.create_task(node.start(), name="start")
        stopped = asyncio.create_task(self._stop.wait(), name="stop")
        refused = asyncio.create_task(self._until_refused(), name="membership")
        await asyncio.wait({starting, stopped, refused}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
        stopped.cancel()
        refused.cancel()
        try:
            await starting
        except asyncio.CancelledError:
            if refused.done() and not refused.cancelled():
                raise refused.result() from None
            return None
        except (OSError, TidelogError) as error:
            from tidelog.cli.up.failures import start_failure

            raise start_failure(error, self.config) from error
        return node

    async def _until_refused(self) -> CliError:
        if not self.config.list("controller.quorum.voters"):
            await asyncio.Event().wait()  # a single broker has no cluster to refuse it
        from tidelog.cli.up.membership_watch import until_refused

        return await until_refused(self.config)

    async def _confirm_security(self, node: "BrokerNode") -> None:
        """The client files name the port that the broker got; the first user exists."""
        if self.security is not None:
            self.security.write_client_files(node.bootstrap_servers)
            await asyncio.to_thread(
                self.security.confirm_admin,
                node.bootstrap_servers,
                node.inter_broker_address,
                CONFIRM_TIMEOUT_S,
            )

    async def _serve(self, node: "BrokerNode") -> None:
        """Serves until a stop signal, or a failure of the broker."""
        watching = asyncio.create_task(self._until_it_fails(node), name="failure watch")
        try:
            if self.demo:
                await show_demo(
                    node.bootstrap_servers,
                    self._stop,
                    pipeline=self.demo_pipeline,
                    context=self.security.context if self.security is not None else None,
                )
            else:
                await self._stop.wait()
        finally:
            watching.cancel()
        if node.failure is not None:
            raise CliError(
                f"The broker had to stop: {node.failure}.", cause="its log shows what led to this."
            )

    async def _until_it_fails(self, node: "BrokerNode") -> None:
        while node.failure is None:  # noqa: ASYNC110 - it is a property of several parts, none of which tells
            await asyncio.sleep(FAILURE_CHECK_S)
        self._stop.set()

    def _announce(self, node: "BrokerNode") -> None:
        facts = {
            "event": "ready",
            "node_id": self.config.int("node.id"),
            "bootstrap_servers": node.bootstrap_servers,
            "port": node.port,
            "pid": os.getpid(),
            "data": list(self.config.list("log.dirs")),
            "durability": self.config.text("durability"),
            "metrics": self._metrics_urls(node),
            "schema_registry": self._registry_urls(node),
            "voters": sorted(voter.id for voter in node.quorum.raft.configuration.voters),
        }
        if self.config.optional_text("broker.machine"):
            facts["machine"] = node.services.metadata.image.brokers[self.config.int("node.id")].machine
        if self.security is not None:
            facts |= self.security.facts()
        if self.ready_file is not None:
            write_ready_file(self.ready_file, facts)
        if self._manager is not None:
            self._manager.ready(node.bootstrap_servers)
        if self.json:
            # A supervisor that is gone reads no more; the end of stdin then stops this broker cleanly.
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps(facts), flush=True)
        else:
            from tidelog.cli.up.banner import banner

            click.echo(banner(facts, self.config.warnings, started_s=age_s()))
            sys.stdout.flush()

    def _beating(self) -> "asyncio.Task[None] | None":
        """Beats until the broker has stopped: a stop may take its time, and is no loop that hangs."""
        if not self.beats:
            return None
        from tidelog.cli.up.beats import beat

        return asyncio.create_task(beat(), name="beats")

    def _metrics_urls(self, node: "BrokerNode") -> list[str]:
        if node.metrics_port is None:
            return []
        from tidelog.cli.up.ports import metrics_url

        return [metrics_url(self.config, node.metrics_port)]

    def _registry_urls(self, node: "BrokerNode") -> list[str]:
        if node.schema_registry_port is None:
            return []
        from tidelog.cli.up.ports import registry_url

        return [registry_url(self.config, node.schema_registry_port)]

    async def _end(self, node: "BrokerNode") -> None:
        began = time.monotonic()
        if self._manager is not None:
            self._manager.stopping()
        await node.stop()
        if self._manager is not None:
            self._manager.close()
        if self.ready_file is not None:
            remove_ready_file(self.ready_file)
        seconds = time.monotonic() - began
        with contextlib.suppress(BrokenPipeError):
            if self.json:
                print(json.dumps({"event": "stopped", "seconds": round(seconds, 3)}), flush=True)
            else:
                click.echo(f"Stopped cleanly in {seconds:.2f} s.")

    def _on_signal(self, number: int) -> None:
        match self._signals.receive(time.monotonic()):
            case StopSignal.SECOND:
                os._exit(128 + number)  # the next start will scan what was not flushed
            case StopSignal.ECHO:
                return
        self._stop.set()
        if not self.json:
            click.echo(
                "\nStopping after the requests in flight are answered. Press Ctrl-C again to stop at once."
            )

    def _on_stdin(self) -> None:
        """The parent process has ended: the broker must not outlive the process that would stop it."""
        if not os.read(0, 4096):
            asyncio.get_running_loop().remove_reader(0)
            self._stop.set()


async def show_demo(
    servers: str, stop: asyncio.Event, *, pipeline: bool = False, context: str | None = None
) -> None:
    """Until `stop` is set. A process of its own: the client library would stay in the broker's memory."""
    more = ["--pipeline"] if pipeline else []
    more += ["--context", context] if context is not None else []
    shown = await asyncio.create_subprocess_exec(sys.executable, "-m", "tidelog.cli.up.demo", servers, *more)
    stopped = asyncio.ensure_future(stop.wait())
    finished = asyncio.ensure_future(shown.wait())
    await asyncio.wait({stopped, finished}, return_when=asyncio.FIRST_COMPLETED)
    if not finished.done():
        shown.kill()
        await finished
    elif shown.returncode:
        stopped.cancel()
        raise CliError("The broker runs, but the demonstration failed; see above.")
    await stopped


def age_s() -> float | None:
    """Seconds since this process began, as the system counts them; None where it does not say."""
    try:
        with open("/proc/self/stat") as file:
            began_ticks = int(file.read().rpartition(")")[2].split()[19])
        with open("/proc/uptime") as file:
            return max(0.0, float(file.read().split()[0]) - began_ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return None
