"""How many cores a machine's brokers use: the setting, and what the system has."""

import math
import os

from tidelog.base.config.config import BrokerConfig
from tidelog.base.settings.node import AUTO_CORES


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
