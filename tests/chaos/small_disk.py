"""A file system of a few megabytes for one broker: memory that is mounted where only its processes see it.

Needs no rights of an administrator where the kernel lets users make namespaces, as most do.
"""

import errno
import os
import subprocess
from pathlib import Path


class NoSmallDisk(Exception):
    """This machine does not let us mount anything; the text says why."""


class SmallDisk:
    def __init__(self, mount_point: Path, megabytes: int) -> None:
        mount_point.mkdir(parents=True)
        script = f'mount -t tmpfs -o size={megabytes}m tidelog "$0" && echo mounted && exec sleep infinity'
        try:
            self._holder = subprocess.Popen(
                ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, str(mount_point)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        except FileNotFoundError as error:
            raise NoSmallDisk(f"{error.filename} is not installed") from error
        assert self._holder.stdout is not None
        told = self._holder.stdout.readline().strip()
        if told != "mounted":
            self.remove()
            raise NoSmallDisk(f"mounting a small file system: {told}")
        self.path = Path(f"/proc/{self._holder.pid}/root{mount_point}")
        """The mounted directory as seen from outside."""
        self.wrapper = [
            "nsenter",
            f"--target={self._holder.pid}",
            "--user",
            "--mount",
            "--preserve-credentials",
        ]
        """In front of a command that shall see it where it is mounted."""

    def fill(self) -> None:
        """Not a byte is left."""
        block = bytes(4096)
        with (self.path / "ballast").open("ab", buffering=0) as file:
            while True:
                try:
                    file.write(block)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    if len(block) == 1:
                        return
                    block = block[: len(block) // 2]

    def leave(self, free_bytes: int) -> None:
        """So many bytes are free afterwards, where more were."""
        found = os.statvfs(self.path)
        with (self.path / "ballast").open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - free_bytes)

    def free(self) -> None:
        (self.path / "ballast").unlink(missing_ok=True)

    def remove(self) -> None:
        self._holder.kill()
        self._holder.wait()
        if self._holder.stdout is not None:
            self._holder.stdout.close()
