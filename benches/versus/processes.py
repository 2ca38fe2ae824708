"""What the system says about a set of processes: the brokers of one side of a comparison."""

from collections.abc import Iterable
from pathlib import Path

import psutil


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of all their threads, to the nanosecond where the kernel tells it so."""
    return sum(_cpu_seconds(pid) for pid in pids)


def resident_bytes(pids: Iterable[int]) -> int:
    return sum(int(psutil.Process(pid).memory_info().rss) for pid in pids)


def with_children(pid: int) -> list[int]:
    process = psutil.Process(pid)
    return [pid, *(child.pid for child in process.children(recursive=True))]


def _cpu_seconds(pid: int) -> float:
    # Threads that have ended are in the sum of the process only, so that is the one to read. Its clock ticks
    # are coarse; schedstat of the process alone would leave out its threads.
    times = psutil.Process(pid).cpu_times()
    coarse = float(times.user + times.system)
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        fine = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
    except (FileNotFoundError, ProcessLookupError):
        return coarse
    return max(fine, coarse) if abs(fine - coarse) > 0.05 else fine
