"""How much memory this process may use, and how much of it is in use: by its cgroup, or by `ulimit -v`.

A container's limit is far below what the machine has, and the kernel kills a process that reaches it. The
tightest limit of all cgroups of the process counts.
"""

import os
import resource
from typing import NamedTuple, Protocol

from tidelog.server.cgroups import cgroup_directories

NO_LIMIT = 1 << 60
"""Version 1 of cgroups writes a number near 2**63 where there is no limit."""

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class MemoryReading(NamedTuple):
    limit_bytes: int
    used_bytes: int
    """Without the page cache that the kernel can drop."""
    is_limit: bool
    """False for the memory of the machine: other processes use it, too, and no one else's limit is ours."""


class MemorySource(Protocol):
    def read(self) -> MemoryReading: ...


class CgroupMemory:
    """The cgroup with the tightest limit above this process."""

    def __init__(self, directory: str, limit: str, used: str, cache: str) -> None:
        """`limit` and `used` name files, `cache` a line of `memory.stat`."""
        self._directory = directory
        self._limit, self._used, self._cache = limit, used, cache

    def read(self) -> MemoryReading:
        used = _number(f"{self._directory}/{self._used}") - self._droppable()
        return MemoryReading(self.limit(), max(0, used), True)

    def limit(self) -> int:
        return _number(f"{self._directory}/{self._limit}")

    def _droppable(self) -> int:
        with open(f"{self._directory}/memory.stat", encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(" ")
                if name == self._cache:
                    return int(value)
        return 0


class AddressSpace:
    """`ulimit -v`: an allocation beyond it fails."""

    def __init__(self, limit: int) -> None:
        self._limit = limit

    def read(self) -> MemoryReading:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
        return MemoryReading(self._limit, pages * _PAGE_BYTES, True)


class MachineMemory:
    def read(self) -> MemoryReading:
        figures: dict[str, int] = {}
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name in ("MemTotal", "MemAvailable"):
                    figures[name] = int(value.split()[0]) * 1024
        total = figures["MemTotal"]
        return MemoryReading(total, total - figures.get("MemAvailable", total), False)


def memory_source(root: str = "") -> MemorySource | None:
    """Returns the limit that this process reaches first; None where the system tells nothing, as on macOS."""
    cgroup = _cgroup(root)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    limit = cgroup.limit() if cgroup is not None else NO_LIMIT
    if soft != resource.RLIM_INFINITY and soft < limit:
        return AddressSpace(soft)
    if cgroup is not None:
        return cgroup
    return MachineMemory() if os.path.exists("/proc/meminfo") else None


def _cgroup(root: str) -> CgroupMemory | None:
    directories = cgroup_directories("memory", root)
    found = [
        CgroupMemory(directory, limit, used, cache)
        for within, limit, used, cache in (
            (directories.version_1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
            (directories.version_2, "memory.max", "memory.current", "inactive_file"),
        )
        for directory in within
        if os.path.exists(f"{directory}/{limit}") and os.path.exists(f"{directory}/{used}")
    ]
    limited = [one for one in found if one.limit() < NO_LIMIT]
    return min(limited, key=CgroupMemory.limit, default=None)


def _number(path: str) -> int:
    with open(path, encoding="ascii") as file:
        text = file.read().strip()
    return NO_LIMIT if text == "max" else int(text)
