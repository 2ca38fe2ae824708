"""A cgroup with a memory limit for one broker, of either version; made by root only."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_V1 = Path("/sys/fs/cgroup/memory")
_V2 = Path("/sys/fs/cgroup")
_HOLD = "import sys, time; held = b'x' * int(sys.argv[1]); print('holds', flush=True); time.sleep(600)"


class NoCgroup(Exception):
    """This machine lets us make none; the text says why."""


class MemoryCgroup:
    def __init__(self, limit_bytes: int) -> None:
        name = f"tidelog-test-{os.getpid()}"
        is_v1 = _V1.is_dir()
        self.path = (_V1 if is_v1 else _V2) / name
        self._usage = "memory.usage_in_bytes" if is_v1 else "memory.current"
        try:
            self.path.mkdir()
            (self.path / ("memory.limit_in_bytes" if is_v1 else "memory.max")).write_text(str(limit_bytes))
        except OSError as error:
            with contextlib.suppress(OSError):
                self.path.rmdir()
            raise NoCgroup(str(error)) from error
        self.limit_bytes = limit_bytes
        self.wrapper = ["sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh"]
        """In front of a command that shall live in it."""

    @contextlib.contextmanager
    def ballast(self, share: float) -> Iterator[None]:
        """Another process in it uses so much that this share of the limit is in use."""
        stat = dict(line.split() for line in (self.path / "memory.stat").read_text().splitlines())
        cache = int(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
        used = int((self.path / self._usage).read_text()) - cache
        count = int(self.limit_bytes * share) - used
        command = [*self.wrapper, sys.executable, "-S", "-c", _HOLD, str(max(0, count))]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
            try:
                assert holder.stdout is not None
                assert holder.stdout.readline() == b"holds\n"
                yield
            finally:
                holder.kill()

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.path.rmdir()
