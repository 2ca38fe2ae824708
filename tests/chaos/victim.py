"""`tidelog up` as a process that is killed without warning and restarted on the same directory and port."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE_S = 60.0
RUN_TIDELOG = "from tidelog.cli.main import main; main()"


class Victim:
    def __init__(self, directory: Path, settings: Mapping[str, object]) -> None:
        directory.mkdir(parents=True)
        self.directory = directory
        self.data = directory / "data"
        self.log_file = directory / "broker.log"
        self._ready_file = directory / "ready.json"
        self._settings = {name.replace("_", "."): str(value) for name, value in settings.items()}
        self.source: Path | None = None
        """The source of the release that it runs, if it is not this version."""
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self.is_paused = False

    def set(self, name: str, value: object) -> None:
        """A setting of this broker alone, from its next start on."""
        self._settings[name] = str(value)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def has_given_up(self) -> bool:
        """It ended by itself: nobody stopped or killed it."""
        return self._process is not None and self._process.poll() is not None

    def start(self, patience_s: float = PATIENCE_S) -> None:
        """Answers requests when this returns; the second time on the port of the first."""
        self.launch()
        self.until_ready(patience_s)

    def launch(self) -> None:
        """A process that is on its way up; a broker of a cluster may have to wait for the others."""
        assert self._process is None
        self._ready_file.unlink(missing_ok=True)
        options = [part for name, value in self._all_settings() for part in ("--set", f"{name}={value}")]
        program = self._program() if self.source is None else self._program_of_release(self.source)
        command = [*self._wrapper(), sys.executable, "-c", program, "up", "--data", str(self.data)]
        if self.source is None:  # releases may not know them
            unset = {"metrics.port", "schema.registry.port"} - self._settings.keys()
            options += [part for name in sorted(unset) for part in ("--set", f"{name}=0")]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options, "--ready-file", str(self._ready_file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def until_ready(self, patience_s: float = PATIENCE_S) -> None:
        wait_until(self._is_ready, lambda: f"the broker answers:\n{self.log_tail()}", patience_s)
        self._port = json.loads(self._ready_file.read_text())["port"]

    def _all_settings(self) -> list[tuple[str, str]]:
        listeners = {"listeners": f"PLAINTEXT://127.0.0.1:{self._port}"}
        return list({**listeners, **self._settings}.items())

    def _wrapper(self) -> list[str]:
        return []

    def _program(self) -> str:
        return RUN_TIDELOG

    @staticmethod
    def _program_of_release(source: Path) -> str:
        return f"import sys; sys.path.insert(0, {str(source)!r}); {RUN_TIDELOG}"

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the broker ended:\n{self.log_tail()}"
        return self._ready_file.exists()

    def kill(self) -> None:
        """As the out-of-memory killer does. Nothing happens where it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
            self._process = None
            self.is_paused = False

    def pause(self) -> None:
        """As a long stall of its machine: sockets stay open, nothing is answered."""
        if self.is_running:
            os.kill(self.pid, signal.SIGSTOP)
            self.is_paused = True

    def resume(self) -> None:
        if self.is_paused and self.is_running:
            os.kill(self.pid, signal.SIGCONT)
        self.is_paused = False

    def terminate(self, patience_s: float = PATIENCE_S) -> int:
        """As a service manager does; the exit code."""
        self.ask_to_stop()
        return self.until_ended(patience_s)

    def until_ended(self, patience_s: float = PATIENCE_S) -> int:
        """The exit code of a process that ends by itself."""
        assert self._process is not None
        try:
            code = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            os.kill(self._process.pid, signal.SIGUSR2)  # it tells what it waits for, or dies of it
            time.sleep(1)
            raise AssertionError(
                f"still there after {patience_s:g} s:\n{self.log_text()[-20_000:]}"
            ) from None
        self._process = None
        return code

    def ask_to_stop(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGTERM)
        return self._process

    def log_text(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def log_tail(self) -> str:
        return self.log_text()[-4000:]


def wait_until(
    condition: Callable[[], bool],
    what: str | Callable[[], str],
    patience_s: float = PATIENCE_S,
    pause_s: float = 0.005,
) -> None:
    """`what` as a function is asked when the time is up: what it tells is then of now, not of the start."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() >= deadline:
            told = what if isinstance(what, str) else what()
            raise AssertionError(f"waited {patience_s:g} s in vain: {told}")
        time.sleep(pause_s)
