"""The records of pipelines on this machine: which run, their progress, and requests to stop.

<state>/<name>/lock          held as long as the pipeline runs, by the system, so it cannot go stale
<state>/<name>/status.json   written by the run every second or so
<state>/<name>/stop          written by `tidelog pipeline stop`, taken away by the run
<state>/<name>/checkpoint/   unless the pipeline says where
<state>/<name>/spark.log     what Spark's JVM logs
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tidelog.base.errors import TidelogError

VARIABLE = "TIDELOG_PIPELINES"
LOCK_TRIES, LOCK_PAUSE_S = 5, 0.02
"""A check whether a pipeline runs holds its lock for a moment."""


class AlreadyRuns(TidelogError):
    """A second run of the same pipeline would share its checkpoint."""


class NoRoom(TidelogError):
    """What is kept about pipelines cannot be written."""


class PipelineRecord:
    def __init__(self, state: Path, name: str) -> None:
        self.name = name
        self.directory = state / name
        self.log = self.directory / "spark.log"
        self.default_checkpoint = self.directory / "checkpoint"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Holds the lock; a wish to stop that was meant for an earlier run is forgotten."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise NoRoom(f"{self.directory} cannot be written to: {error.strerror}") from error
        try:
            self._lock(handle)
            self._stop_file.unlink(missing_ok=True)
            yield
        finally:
            os.close(handle)

    def _lock(self, handle: int) -> None:
        for tries_left in reversed(range(LOCK_TRIES)):
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if not tries_left:
                    who = self.status().get("pid")
                    raise AlreadyRuns(f"the pipeline '{self.name}' runs already, as process {who}") from error
                time.sleep(LOCK_PAUSE_S)

    @property
    def is_running(self) -> bool:
        try:
            handle = os.open(self.directory / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def status(self) -> dict[str, Any]:
        """What the last run said last; empty where there was none."""
        try:
            found = json.loads((self.directory / "status.json").read_text())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write_status(self, status: Mapping[str, Any]) -> None:
        """Replaces the file in one step, so that no reader sees half of it."""
        fresh = self.directory / f"status.json.{os.getpid()}"
        fresh.write_text(json.dumps(status))
        fresh.replace(self.directory / "status.json")

    @property
    def _stop_file(self) -> Path:
        return self.directory / "stop"

    @property
    def is_asked_to_stop(self) -> bool:
        return self._stop_file.exists()

    def ask_to_stop(self) -> None:
        self._stop_file.touch()


def state_directory() -> Path:
    """$TIDELOG_PIPELINES, or where the user's programs keep such things."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "tidelog" / "pipelines"


def records(state: Path) -> list[PipelineRecord]:
    """Every pipeline that ever ran here, by name."""
    if not state.is_dir():
        return []
    return [
        PipelineRecord(state, directory.name) for directory in sorted(state.iterdir()) if directory.is_dir()
    ]
