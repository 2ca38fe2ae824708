"""Whether the files of a stopped broker are whole: every batch, index, snapshot and checkpoint.

Nothing is changed. A finding is damage, which the next start repairs, sets aside or refuses; a note is what a
start finds in order, or cleans up, such as the torn write that a killed broker leaves.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tidelog.base.errors import StorageError
from tidelog.base.ports import Disk
from tidelog.cli.log.dump.index import dump_offset_index, dump_time_index, dump_txn_index
from tidelog.cli.log.dump.metadata import dump_metadata_snapshot, dump_quorum_state
from tidelog.cli.log.dump.state import dump_snapshot
from tidelog.cli.log.dumped import Dumped
from tidelog.cli.log.files import disk_of, open_read_only, read_bytes
from tidelog.metadata.store.quorum_state import QUORUM_STATE
from tidelog.metadata.store.store import DIRECTORY as METADATA_DIR
from tidelog.storage.file_names import DAMAGED, LEADER_EPOCHS, LOG, LOST_RANGE, PARTITION_METADATA, parse
from tidelog.storage.journal.replay import read_journal
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_dir import checkpoints
from tidelog.storage.log_dir.checkpoints import TopicPartition
from tidelog.storage.log_dir.files import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META,
    RECOVERY_POINTS,
    LogDirIdentity,
)
from tidelog.storage.log_dir.partition_dir import PartitionDir, listing, read_topic_id
from tidelog.storage.recovery import lost_range
from tidelog.storage.segment.scan import Good, SegmentScan

OFFSET_CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS)
_DUMPS: dict[str, Callable[[str, int], Iterator[Dumped]]] = {
    ".index": dump_offset_index,
    ".timeindex": dump_time_index,
    ".txnindex": dump_txn_index,
    ".snapshot": dump_snapshot,
}


@dataclass(slots=True)
class Checked:
    """One directory: what is in it, and what is wrong with it."""

    path: str
    segments: int = 0
    batches: int = 0
    records: int = 0
    bytes: int = 0
    damage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class LogDirCheck:
    """One log dir; `on_bytes` hears how much was read, as it goes on."""

    def __init__(self, path: str, on_bytes: Callable[[int], None]) -> None:
        self._path = path.rstrip("/") or "/"
        self._disk = disk_of(self._path)
        self._on_bytes = on_bytes
        self._is_clean = os.path.exists(f"{self._path}/{CLEAN_SHUTDOWN}")
        self._synced: dict[TopicPartition, int] = {}
        self.partitions = listing(self._disk, self._path)

    def run(self) -> Iterator[Checked]:
        """The log dir itself first, then each partition in it."""
        yield self._own_files()
        for partition in self.partitions:
            yield self.partition(partition)

    def _own_files(self) -> Checked:
        checked = Checked(self._path)
        meta = f"{self._path}/{META}"
        try:
            with open(meta, "rb") as file:
                identity = LogDirIdentity.load(file.read(), meta)
            if identity.journal_id:
                self._journal(checked, bytes.fromhex(identity.journal_id))
        except FileNotFoundError:
            checked.notes.append(
                f"there is no {META}: a broker that starts here takes the log dir for a new one"
            )
        except StorageError as error:
            checked.damage.append(str(error))
        for name in OFFSET_CHECKPOINTS:
            try:
                offsets = checkpoints.read(self._disk, f"{self._path}/{name}")
            except StorageError as error:
                checked.damage.append(str(error))
                continue
            if name == RECOVERY_POINTS:
                self._synced = offsets
        here = {(partition.topic, partition.partition) for partition in self.partitions}
        for topic, index in sorted(self._synced.keys() - here):
            checked.damage.append(f"the directory {topic}-{index} is gone: {RECOVERY_POINTS} knows it")
        return checked

    def _journal(self, checked: Checked, journal_id: bytes) -> None:
        content = read_journal(self._disk, self._path, journal_id)
        checked.damage += [f"journal: {damage}" for damage in content.damage]
        entries = content.entries()
        logs = len({entry.directory for entry in entries})
        size = sum(len(entry.data) for entry in entries)
        checked.notes.append(
            f"journal: {len(content.blocks)} blocks with {size} bytes of {logs} partitions; the next start "
            "writes those that their files lack, so that a torn end of a file may become whole"
        )

    def only(self, partition: PartitionDir) -> Checked:
        """One partition, with what the log dir around it knows of it."""
        self._own_files()
        return self.partition(partition)

    def partition(self, partition: PartitionDir) -> Checked:
        checked = Checked(partition.path)
        if partition.is_deleted:
            checked.notes.append("deleted: the next start removes it")
            return checked
        names = sorted(os.listdir(partition.path))
        is_metadata = os.path.basename(partition.path) == METADATA_DIR
        synced = None if is_metadata else self._synced.get((partition.topic, partition.partition))
        self._segments(checked, [name for name in names if name.endswith(LOG)], synced)
        for name in names:
            path = f"{partition.path}/{name}"
            parsed = parse(name)
            if parsed is not None and parsed[1] in _DUMPS:
                _collect(checked, name, _DUMPS[parsed[1]](path, parsed[0]))
            elif DAMAGED in name:
                checked.notes.append(f"{name}: damaged bytes that an earlier start set aside")
            elif is_metadata and name.endswith((".checkpoint", ".install")):
                _collect(checked, name, dump_metadata_snapshot(path, with_records=False))
            elif is_metadata and name == QUORUM_STATE:
                _collect(checked, name, dump_quorum_state(path))
            elif name == PARTITION_METADATA:
                try:
                    read_topic_id(self._disk, partition.path)
                except StorageError as error:
                    checked.damage.append(str(error))
            elif name == LOST_RANGE:
                checked.damage.append(_lost(self._disk, partition.path))
        return checked

    def _segments(self, checked: Checked, names: list[str], synced: int | None) -> None:
        epochs = _Epochs(checked)
        end: int | None = None
        for name in names:
            base = int(name.removesuffix(LOG)) if name.removesuffix(LOG).isdigit() else 0
            if end is not None and base < end:
                checked.damage.append(f"{name}: the segment before it reaches up to offset {end - 1}")
            end = self._segment(checked, name, base, synced, epochs, is_last=name == names[-1])
        epochs.compare()
        if synced is not None and (end or 0) < synced:
            reported = checked.damage if self._is_clean else checked.notes
            reported.append(f"the log ends at {end or 0}, and {RECOVERY_POINTS} knows it up to {synced}")

    def _segment(
        self, checked: Checked, name: str, base: int, synced: int | None, epochs: "_Epochs", *, is_last: bool
    ) -> int:
        file = open_read_only(f"{checked.path}/{name}")
        end = reported = base
        try:
            size = file.size()
            checked.segments += 1
            checked.bytes += size
            for found in SegmentScan(file, base, size).run(0, base):
                if isinstance(found, Good):
                    header = found.header
                    checked.batches += 1
                    checked.records += header.record_count
                    end = header.next_offset
                    epochs.note(header.leader_epoch, header.base_offset, name)
                    if found.position - reported >= 1 << 20:
                        self._on_bytes(found.position - reported)
                        reported = found.position
                elif found.zeros and is_last and not self._is_clean:
                    checked.notes.append(f"{name} at {found.position}: reserved space, not written yet")
                else:
                    length = found.end - found.position
                    is_torn = is_last and found.end == size and not self._is_clean and end >= (synced or 0)
                    what = "a torn write, which the next start cuts off" if is_torn else "no batch"
                    (checked.notes if is_torn else checked.damage).append(
                        f"{name} at {found.position}: {length} bytes at offset {end} are {what} ({found.why})"
                    )
            self._on_bytes(max(0, size - reported))
        finally:
            file.close()
        return end


class _Epochs:
    """The epochs of the batches of a log, against what its leader-epoch-checkpoint says of them."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._known: LeaderEpochs | None = None
        path = f"{checked.path}/{LEADER_EPOCHS}"
        try:
            self._known = LeaderEpochs.load(read_bytes(path), path)
        except FileNotFoundError:
            pass
        except StorageError as error:
            checked.damage.append(str(error))
        self._wrong: str | None = None

    def note(self, epoch: int, offset: int, name: str) -> None:
        if self._known is None or self._wrong or offset < self._known.first_start:
            return
        reported = self._known.epoch_of(offset)
        if reported != epoch:
            self._wrong = f"{name}: epoch {epoch} wrote offset {offset}, and {LEADER_EPOCHS} says {reported}"

    def compare(self) -> None:
        if self._wrong:
            self._checked.damage.append(self._wrong)


def _collect(checked: Checked, name: str, lines: Iterator[Dumped]) -> None:
    for line in lines:
        if line.damage:
            why = str(line.facts.get("why") or line.text.strip())
            checked.damage.append(f"{name}: {why}")


def _lost(disk: Disk, partition_dir: str) -> str:
    try:
        lost = lost_range.read(disk, partition_dir)
    except ValueError as error:
        return f"{LOST_RANGE} is damaged: {error}"
    where = (
        "there is no other replica" if lost is not None and lost.is_final else "another replica may have them"
    )
    return f"records of the offsets {lost} are lost; {where}"
