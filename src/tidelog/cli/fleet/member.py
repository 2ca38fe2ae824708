"""One broker of a cluster as a process: its command, its output, its end.

It runs in a session of its own, so that Ctrl-C reaches the supervisor alone, and ends by itself when the
supervisor's end of its stdin closes. A machine of several cores is such a process, too: it supervises the
brokers of its cores, says what happens to them, and has them in its session, so that all die as one.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from tidelog.base.broker_settings import BROKER_SETTINGS
from tidelog.base.variables import has_variables
from tidelog.cli.fleet.log import Lines
from tidelog.cli.fleet.plan import FleetPlan, MemberPlan

LAST_LINES = 20
PIECE_BYTES = 64 * 1024
_SECRET_SETTINGS = tuple(name for name, setting in BROKER_SETTINGS.items() if setting.sensitive)
"""Those of single listeners end with the same names."""


class MemberCommand(NamedTuple):
    arguments: list[str]
    secrets: dict[str, str]
    """For the environment: every user of the machine can read a command line."""

    def __repr__(self) -> str:
        return f"MemberCommand({self.arguments})"


def command_of(plan: FleetPlan, member: MemberPlan, *, restart: bool = True) -> MemberCommand:
    secrets: dict[str, str] = {}
    settings = []
    for name, given in plan.settings_of(member).items():
        text = given
        if name.endswith(_SECRET_SETTINGS) and not has_variables(text):
            variable = f"_TIDELOG_SECRET_{len(secrets) + 1}"
            secrets[variable] = text
            text = f"${{env:{variable}}}"
        settings.append(f"--set={name}={text}")
    file = [] if plan.file is None else ["--config", os.path.abspath(plan.file)]
    command = [sys.executable, "-m", "tidelog.cli.main", "broker", "--json", "--until-stdin-closes"]
    flags = () if restart or member.cores == 1 else ("--no-restart",)
    return MemberCommand([*command, *plan.arguments, *flags, *file, *settings], secrets)


class Member:
    """Started once; a broker that is started again is another one of these."""

    def __init__(
        self,
        plan: MemberPlan,
        show: Callable[[str], None],
        tell: Callable[[Mapping[str, Any]], None] = lambda _: None,
        *,
        own_session: bool = True,
    ) -> None:
        """`show` takes the lines of its log, `tell` what a machine says of its cores."""
        self.plan = plan
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.refusal: dict[str, Any] | None = None
        """Why it did not start, in its own words."""
        self.ready = asyncio.Event()
        self.facts: dict[str, Any] = {}
        self.beats = 0
        """How often it said that its event loop turns."""
        self.stopped_cleanly = True
        """Unless it says otherwise: a machine ends well even if it had to kill a core."""
        self._show, self._tell = show, tell
        self._own_session = own_session
        self._process: asyncio.subprocess.Process | None = None
        self._ended: asyncio.Task[int] | None = None

    async def start(self, command: MemberCommand) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=self._own_session,
            env={**os.environ, **command.secrets},
        )
        self._ended = asyncio.create_task(self._until_it_ends(self._process), name=f"broker {self.plan.id}")

    @property
    def id(self) -> int:
        return self.plan.id

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def was_started(self) -> bool:
        return self._ended is not None

    @property
    def is_running(self) -> bool:
        return self._ended is not None and not self._ended.done()

    @property
    def is_serving(self) -> bool:
        return self.ready.is_set() and self.is_running

    def ended(self) -> Awaitable[int]:
        """Its exit code, once it is over and all it said is read; a signal's number is negative."""
        if self._ended is None:
            raise RuntimeError("the broker was never started")
        return asyncio.shield(self._ended)

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            # Not by send_signal: it would reap a process that just ended, and asyncio lose its exit code.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def kill(self) -> None:
        """With all of its cores."""
        if not self._own_session:
            self.signal(signal.SIGKILL)
        elif self._process is not None and self._process.returncode is None:
            self._kill_group(self._process.pid)

    def _kill_group(self, pid: int) -> None:
        """Also cores that outlived the machine: they hold its ports and log dirs, one that hangs for ever."""
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS refuses where all are zombies
            os.killpg(pid, signal.SIGKILL)

    async def _until_it_ends(self, process: asyncio.subprocess.Process) -> int:
        await asyncio.gather(
            self._read(process.stdout, self._on_event), self._read(process.stderr, self._on_line)
        )
        code = await process.wait()
        if self._own_session and self.plan.cores > 1:
            self._kill_group(process.pid)
        return code

    async def _read(self, stream: asyncio.StreamReader | None, take: Callable[[str], None]) -> None:
        lines = Lines()
        while stream is not None and (piece := await stream.read(PIECE_BYTES)):
            for line in lines.feed(piece):
                take(line)
        for line in lines.end():
            take(line)

    def _on_event(self, line: str) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            self._on_line(line)
            return
        match event:
            case {"event": "ready"}:
                self.facts = event
                self.ready.set()
            case {"event": "beat"}:
                self.beats += 1
            case {"event": "stopped"}:
                self.stopped_cleanly = event.get("clean", True)
            case {"event": _}:
                self._keep_facts(event)
                self._tell(event)

    def _keep_facts(self, event: Mapping[str, Any]) -> None:
        """Of a core that its machine has started again, or has no more."""
        cores = self.facts.get("brokers", [])
        for core in [each for each in cores if each["node_id"] == event.get("broker")]:
            if event["event"] == "broker_restarted":
                core["pid"] = event["pid"]
            elif event["event"] == "broker_left":
                cores.remove(core)

    def _on_line(self, line: str) -> None:
        if line.startswith('{"error":'):
            with contextlib.suppress(ValueError):
                self.refusal = json.loads(line)
                line = f"Error: {self.refusal.get('message', line)}" if self.refusal else line
        self.last_lines.append(line)
        self._show(line)
