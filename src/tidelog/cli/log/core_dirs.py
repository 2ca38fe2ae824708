"""The log dirs of a machine: that of its first core, and below it those of the others (`broker.cores`)."""

import os
from collections.abc import Iterable

DIRECTORY = "cores"


def core_dirs(log_dir: str) -> list[str]:
    """The directory itself, then those of further cores as they are numbered."""
    below = os.path.join(log_dir, DIRECTORY)
    names = os.listdir(below) if os.path.isdir(below) else []
    numbers = sorted(int(name) for name in names if name.isdecimal())
    return [log_dir, *(os.path.join(below, str(number)) for number in numbers)]


def core_log_dir(log_dir: str, core: int) -> str:
    """The first core has the log dir itself: with one core nothing is different."""
    return log_dir if core == 0 else os.path.join(log_dir, DIRECTORY, str(core))


def known_cores(log_dirs: Iterable[str]) -> int:
    """One more than the highest core that has a log dir."""
    highest = 0
    for log_dir in log_dirs:
        try:
            names = os.listdir(os.path.join(log_dir, DIRECTORY))
        except OSError:
            continue
        highest = max([highest, *(int(name) for name in names if name.isdecimal())])
    return highest + 1
