"""How many cores a machine's brokers use: the setting, the system, and what earlier starts left behind."""

import math
import os
from collections.abc import Iterable

from tidelog.base.config.config import BrokerConfig
from tidelog.base.settings.node import AUTO_CORES
from tidelog.cli.log.core_dirs import DIRECTORY


def wanted_cores(config: BrokerConfig) -> int:
    text = config.text("broker.cores")
    return usable_cores() if text == AUTO_CORES else int(text)


def usable_cores(root: str = "/sys/fs/cgroup") -> int:
    """Those that this process may run on, or fewer where its cgroup has a smaller share of their time."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has no such call
        cores = os.cpu_count() or 1
    try:
        with open(f"{root}/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return cores if quota == "max" else max(1, min(cores, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):
        return cores


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
