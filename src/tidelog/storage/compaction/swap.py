"""Putting a compacted segment in the place of those it was made from: a crash leaves the one or the others.

  .log.cleaned, .index.swap …   it is complete; a start removes these
  .log.swap                     the one step that decides: from here a start carries the rest through
  old segments -> .deleted      those that begin within the offsets of the new one
  .index.swap -> .index, …      and at last .log.swap -> .log

The directory is synced between the steps. Each can be done again.
"""

from tidelog.base.errors import KafkaError, StorageError
from tidelog.base.ids import Offset
from tidelog.base.ports import Disk
from tidelog.storage.file_names import (
    CLEANED,
    INDEX,
    LOG,
    SEGMENT_SUFFIXES,
    SWAP,
    TIME_INDEX,
    TXN_INDEX,
    file_name,
    parse,
)
from tidelog.storage.segment.batch_walk import walk


def discard(disk: Disk, path: str) -> None:
    """Remove what a compaction wrote that was not decided on. `path` is the segment's, without suffix."""
    for suffix in SEGMENT_SUFFIXES:
        disk.remove(path + suffix + CLEANED)
        if suffix != LOG:
            disk.remove(path + suffix + SWAP)


def decide(disk: Disk, path: str) -> None:
    """From now on the compacted segment counts, whatever happens. Durable once the directory is synced."""
    disk.rename(path + LOG + CLEANED, path + LOG + SWAP)


def give_final_names(disk: Disk, path: str) -> None:
    """The segments it replaces are gone from the directory, which was synced since."""
    for suffix in (INDEX, TIME_INDEX, TXN_INDEX, LOG):
        if disk.exists(path + suffix + SWAP):
            disk.rename(path + suffix + SWAP, path + suffix)
    disk.sync_dir(path.rpartition("/")[0])


def recover(disk: Disk, directory: str) -> list[str]:
    """At a start: finish the swaps that were decided, remove the rest. Returns the removed files."""
    names = disk.names(directory)
    decided = {name for name in names if name.endswith(LOG + SWAP)}
    removed = []
    for name in names:
        segment_log = name[: len(file_name(0, ""))] + LOG + SWAP
        if name.endswith(CLEANED) or (name.endswith(SWAP) and segment_log not in decided):
            disk.remove(f"{directory}/{name}")
            removed.append(name)
    for name in sorted(decided):
        parsed = parse(name)
        if parsed is not None:
            removed += _carry_through(disk, directory, parsed[0])
    return removed


def _carry_through(disk: Disk, directory: str, base: Offset) -> list[str]:
    path = f"{directory}/{file_name(base, '')}"
    last = _last_offset(disk, path + LOG + SWAP)
    names = disk.names(directory)
    _check_reach(disk, directory, base, last, names)
    replaced = []
    for name in names:
        parsed = parse(name)
        if parsed and base < parsed[0] <= last and parsed[1] in SEGMENT_SUFFIXES:
            disk.remove(f"{directory}/{name}")
            replaced.append(name)
    disk.sync_dir(directory)
    give_final_names(disk, path)
    return replaced


def _check_reach(disk: Disk, directory: str, base: Offset, last: Offset, names: list[str]) -> None:
    """No CRC covers the offset of a batch: before segments are removed by it, it must fit what they hold."""
    bases = [parsed[0] for name in names if (parsed := parse(name)) and parsed[1] == LOG]
    for replaced in [other for other in bases if base < other <= last]:
        path = f"{directory}/{file_name(replaced, LOG)}"
        if replaced == max(bases) or _last_offset(disk, path) > last:
            raise StorageError(
                f"{directory}/{file_name(base, LOG + SWAP)} is damaged: it claims to replace {path}, and "
                "cannot; look at both with `tidelog log dump`, then move the damaged one away"
            )


def _last_offset(disk: Disk, path: str) -> Offset:
    file = disk.open(path)
    last = -1
    try:
        for _, header in walk(file, 0, file.size()):
            last = header.last_offset
    except KafkaError:
        pass  # damaged since it was written: what is readable counts, the check of the log says the rest
    finally:
        file.close()
    return last
