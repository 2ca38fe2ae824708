"""The log dirs of a machine: that of its first core, and below it those of the others (`broker.cores`)."""

import os

DIRECTORY = "cores"


def core_dirs(log_dir: str) -> list[str]:
    """The directory itself, then those of further cores as they are numbered."""
    below = os.path.join(log_dir, DIRECTORY)
    names = os.listdir(below) if os.path.isdir(below) else []
    numbers = sorted(int(name) for name in names if name.isdecimal())
    return [log_dir, *(os.path.join(below, str(number)) for number in numbers)]
