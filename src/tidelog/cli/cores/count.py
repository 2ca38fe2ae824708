"""How many cores a machine's brokers use: the setting, and what the system has."""

import math
import os

from tidelog.base.config.config import BrokerConfig
from tidelog.base.settings.node import AUTO_CORES
from tidelog.server.cgroups import cgroup_directories


def wanted_cores(config: BrokerConfig) -> int:
    text = config.text("broker.cores")
    return usable_cores() if text == AUTO_CORES else int(text)


def usable_cores(root: str = "") -> int:
    """Those that this process may run on, or fewer where a cgroup has a smaller share of their time."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS has no such call
        cores = os.cpu_count() or 1
    directories = cgroup_directories("cpu", root)
    shares = [
        *(
            _share(f"{directory}/cpu.cfs_quota_us", f"{directory}/cpu.cfs_period_us")
            for directory in directories.version_1
        ),
        *(_share(f"{directory}/cpu.max") for directory in directories.version_2),
    ]
    return max(1, min([cores, *(math.ceil(share) for share in shares if share is not None)]))


def _share(*paths: str) -> float | None:
    """Cores by the quota and the period in these files; None where there is no limit, or no such file."""
    try:
        words: list[str] = []
        for path in paths:
            with open(path, encoding="ascii") as file:
                words += file.read().split()
        quota, period = words
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError, ZeroDivisionError):  # "max", too
        return None
