"""Brokers of other machines that have the id of a core: it must not start, or it takes their place."""

import os
from collections.abc import Iterable, Mapping, Sequence

from tidelog.cli.cluster.view import Broker
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.log.core_dirs import core_log_dir


def new_cores(ids: Sequence[int], log_dirs: Iterable[str]) -> dict[int, int]:
    """Core by id, of those without a log dir: one that has any was let into the cluster as this id before."""
    paths = list(log_dirs)
    return {
        id: core
        for core, id in enumerate(ids)
        if core and not any(os.path.isdir(core_log_dir(path, core)) for path in paths)
    }


def stranger(new: Mapping[int, int], brokers: Mapping[int, Broker], machine: str) -> CliError | None:
    """Why one of the cores may not start. Also where that broker is down: the core would have its replicas,
    and none of their records."""
    for id, core in new.items():
        known = brokers.get(id)
        if known is not None and known.machine != machine:
            return CliError(
                f"Core {core} of this machine would be broker {id}, which is another broker of the cluster, "
                f"at {known.address}.",
                cause="core k of broker n is broker n + 1000 k.",
                attempt=f"--cores {core}; or drain that broker and give it another node.id: "
                f"tidelog cluster drain {id}",
                code=Exit.REFUSED,
            )
    return None
