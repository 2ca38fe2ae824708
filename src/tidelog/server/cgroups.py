"""The cgroups of this process: where Linux keeps the limits of a container or a service.

Version 1 has a tree of directories for each controller, version 2 one for all. The limit of a cgroup holds
for those below it, so that all on the way from the root count.
"""

import os
from typing import NamedTuple


class CgroupDirectories(NamedTuple):
    version_1: list[str]
    version_2: list[str]


def cgroup_directories(controller: str, root: str = "") -> CgroupDirectories:
    """Returns the cgroups that this process is in for a controller, such as "memory", from the root on."""
    found = CgroupDirectories([], [])
    try:
        with open(f"{root}/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return found
    for _, controllers, path in lines:
        if controllers == "":
            found.version_2.extend(_on_the_way(f"{root}/sys/fs/cgroup", path))
        elif controller in controllers.split(","):
            found.version_1.extend(_on_the_way(f"{root}/sys/fs/cgroup/{controller}", path))
    return found


def _on_the_way(mount: str, path: str) -> list[str]:
    """A container sees its own cgroup as the root, whatever the path says: parts that do not exist are left
    out."""
    parts = [part for part in path.split("/") if part]
    directories = ["/".join([mount, *parts[:count]]) for count in range(len(parts) + 1)]
    return [directory for directory in directories if os.path.isdir(directory)]
