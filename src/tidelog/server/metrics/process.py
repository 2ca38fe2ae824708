"""Metrics of the process, under the names that Prometheus' own libraries use: CPU, memory, open files.

Linux says everything in /proc. Elsewhere some of it is missing, and then it is left out rather than guessed.
"""

import os
import resource
import time
from collections.abc import Iterator

from tidelog.metrics.families.process import (
    CPU_SECONDS,
    LOOP_BUSY_SECONDS,
    MAX_FILES,
    OPEN_FILES,
    RESIDENT_BYTES,
    START_TIME,
    VIRTUAL_BYTES,
)
from tidelog.metrics.page import Page

FILES_PER_STEP = 500
_FILES = ("/proc/self/fd", "/dev/fd")
_STARTED_SECONDS = time.time()


def process_metrics(page: Page) -> Iterator[None]:
    """Runs on the event loop's thread, whose CPU time it reports beside that of the process."""
    page.add(CPU_SECONDS, time.process_time())
    page.add(LOOP_BUSY_SECONDS, time.thread_time())
    page.add(START_TIME, started_seconds())
    page.add(MAX_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    sizes = memory_bytes()
    if sizes is not None:
        page.add(VIRTUAL_BYTES, sizes[0])
        page.add(RESIDENT_BYTES, sizes[1])
    yield
    yield from _open_files(page)


def memory_bytes() -> tuple[int, int] | None:
    """Returns the virtual and the resident size; None where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            virtual, resident = file.read().split()[:2]
    except (OSError, ValueError):
        return None
    return int(virtual) * resource.getpagesize(), int(resident) * resource.getpagesize()


def started_seconds() -> float:
    """Returns when the process began, in seconds since 1970; without /proc, when this module was loaded."""
    try:
        with open("/proc/self/stat", "rb") as file:
            began = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + began
    except (OSError, ValueError, IndexError, AttributeError):
        return _STARTED_SECONDS


def _open_files(page: Page) -> Iterator[None]:
    for path in _FILES:
        try:
            count = os.stat(path).st_size  # since Linux 6.2 the number itself
            if not count or path != _FILES[0]:
                count = -1  # the scan has one open itself
                with os.scandir(path) as entries:
                    for _ in entries:
                        count += 1
                        if count % FILES_PER_STEP == 0:
                            yield
        except OSError:
            continue
        page.add(OPEN_FILES, count)
        return
