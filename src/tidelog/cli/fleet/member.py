"""One broker of a cluster as a process: its command, its output, its end.

It runs in a session of its own, so that Ctrl-C reaches the supervisor alone, and ends by itself when the
supervisor's end of its stdin closes.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Awaitable, Callable
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


def command_of(plan: FleetPlan, member: MemberPlan) -> MemberCommand:
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
    return MemberCommand([*command, *plan.arguments, *file, *settings], secrets)


class Member:
    """Started once; a broker that is started again is another one of these."""

    def __init__(self, plan: MemberPlan, show: Callable[[str], None]) -> None:
        self.plan = plan
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.refusal: dict[str, Any] | None = None
        """Why it did not start, in its own words."""
        self.ready = asyncio.Event()
        self.facts: dict[str, Any] = {}
        self.beats = 0
        """How often it said that its event loop turns."""
        self._show = show
        self._process: asyncio.subprocess.Process | None = None
        self._ended: asyncio.Task[int] | None = None

    async def start(self, command: MemberCommand) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
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

    async def _until_it_ends(self, process: asyncio.subprocess.Process) -> int:
        await asyncio.gather(
            self._read(process.stdout, self._on_event), self._read(process.stderr, self._on_line)
        )
        return await process.wait()

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

    def _on_line(self, line: str) -> None:
        if line.startswith('{"error":'):
            with contextlib.suppress(ValueError):
                self.refusal = json.loads(line)
                line = f"Error: {self.refusal.get('message', line)}" if self.refusal else line
        self.last_lines.append(line)
        self._show(line)


def exit_text(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
