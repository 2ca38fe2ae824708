"""The log dirs of a core that was drained: removed, unless anything is in them that is worth a look."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress

from tidelog.cli.log.core_dirs import DIRECTORY, core_log_dir

METADATA_LOG = "__cluster_metadata-0"
DELETED = "-delete"
STRAY = "-stray"
GONE = "-gone"


def remove_log_dirs(log_dirs: Iterable[str], core: int) -> list[str]:
    """Every partition that lived there lives on other cores; the metadata log is a copy.

    Returns what is kept. A log dir is renamed first: after a crash half of it must not look like a core's.
    """
    kept = []
    for path in log_dirs:
        directory = core_log_dir(path, core)
        found = partitions_in(directory)
        kept += [os.path.join(directory, name) for name in found]
        if not found:
            _remove(directory)
        with suppress(OSError):  # not empty: other cores have theirs
            os.rmdir(os.path.join(path, DIRECTORY))
    return kept


def partitions_in(directory: str) -> list[str]:
    """Partition directories that are in use, or that the broker set aside since it knew no topic for them."""
    try:
        found = [entry.name for entry in os.scandir(directory) if entry.is_dir()]
    except OSError:
        return []
    return sorted(
        name
        for name in found
        if name != METADATA_LOG
        and not name.endswith(DELETED)
        and (name.endswith(STRAY) or name.rpartition("-")[2].isdecimal())
    )


def _remove(directory: str) -> None:
    gone = directory + GONE
    shutil.rmtree(gone, ignore_errors=True)
    try:
        os.rename(directory, gone)
    except OSError:  # a mount point keeps its name
        shutil.rmtree(directory, ignore_errors=True)
    shutil.rmtree(gone, ignore_errors=True)
