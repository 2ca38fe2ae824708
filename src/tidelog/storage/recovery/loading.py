"""Opening a partition directory: find the segments, repair what a crash left, learn where the log ends."""

from dataclasses import dataclass
from functools import partial

from tidelog.base.errors import KafkaError, StorageError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset, TimestampMs
from tidelog.base.invariant import broken
from tidelog.base.ports import read_file
from tidelog.storage.compaction import swap as compaction_swap
from tidelog.storage.file_names import (
    DAMAGED,
    DELETED,
    INDEX,
    LEADER_EPOCHS,
    LOG,
    LOST_RANGE,
    PARTITION_METADATA,
    RECOVERING,
    SNAPSHOT,
    TIME_INDEX,
    TXN_INDEX,
    parse,
)
from tidelog.storage.flush import Unsynced
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_dir.checkpoint_text import has_checksum
from tidelog.storage.log_files import LogFiles
from tidelog.storage.producers.producers import Producers
from tidelog.storage.producers.replay import replay, replay_epochs
from tidelog.storage.producers.snapshot_files import ProducerSnapshotFiles
from tidelog.storage.recovery.losses import Losses
from tidelog.storage.recovery.lost_range import LostRange
from tidelog.storage.recovery.repair import PriorKnowledge, Recovered, recover_segment
from tidelog.storage.recovery.report import Gap, RecoveryReport
from tidelog.storage.segment.active import ActiveSegment, activate, create_segment
from tidelog.storage.segment.batch_walk import walk
from tidelog.storage.segment.offset_index import ENTRY_BYTES, RELATIVE_MAX, CorruptIndex, OffsetIndex
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.segments import SegmentList
from tidelog.storage.segment.time_index import ENTRY as TIME_ENTRY
from tidelog.storage.segment_deletion import mark_for_deletion
from tidelog.wire.batch import crc_ok

_NEVER: Offset = 2**63
"""A log that was closed in order has no torn write, even if its end is unknown."""


@dataclass(slots=True)
class Loaded:
    segments: SegmentList
    start: Offset
    end: Offset
    recovery_point: Offset
    complete_at: Offset | None
    """Where the log was closed in order: its indexes and its producer snapshot are complete."""
    epochs: LeaderEpochs
    producers: Producers
    snapshots: ProducerSnapshotFiles
    unsynced: Unsynced
    report: RecoveryReport
    lost: LostRange | None
    """What damage took and another replica may give back."""


class Loader:
    """One opening of one directory; `load` is the whole story in order."""

    def __init__(
        self,
        files: LogFiles,
        now_ms: TimestampMs,
        recovery_point: Offset | None,
        committed: Offset,
        was_clean: bool,
    ) -> None:
        self._files = files
        self._disk = files.disk
        self._now_ms = now_ms
        self._report = RecoveryReport()
        self._unsynced = Unsynced()
        self._recovery_point = recovery_point
        self._committed = committed
        self._was_clean = was_clean
        self._losses = Losses(files, self._report)
        self._losses.synced_below = max(recovery_point or 0, committed)
        self._epochs_are_bad = self._epochs_have_checksum = False
        self._tail_newest: tuple[TimestampMs, Offset] | None = None

    def load(self, recovery_point: Offset | None, clean: bool, log_start: Offset | None) -> Loaded:
        self._make_directory()
        self._report.removed += compaction_swap.recover(self._disk, self._files.path)
        bases, snapshots, names = self._sort_names()
        if self._was_clean and snapshots:  # one was taken where the log ended
            self._losses.synced_below = max(self._losses.synced_below, snapshots[-1])
        known_epochs = self._losses.epochs = self._read_epochs()
        if LOST_RANGE in names:
            self._losses.read()
        segments = [self._segment(base) for base in bases]
        checked_from: Offset | None = None
        end: Offset | None = None
        if not segments:
            active = self._create(log_start or 0)
            end = active.base
        elif clean and (end := self._find_end(segments[-1])) is not None and end == (recovery_point or end):
            active = activate(segments.pop(), newest=self._tail_newest)
        else:
            trusted_below = segments[-1].base if clean else recovery_point or 0
            active, end, checked_from = self._recover(segments, trusted_below, names)
        if end < self._must_reach:
            self._losses.note(end, self._must_reach)
        if self._losses.lost is not None and end < self._losses.lost.end:
            epoch = self._losses.lost.epoch
            if epoch == NO_EPOCH:
                epoch = self._epoch_at(self._losses.lost.end - 1, known_epochs, [*segments, active])
            active, end = self._losses.cover(segments, active, end, epoch, self._now_ms)
        start = max(log_start or 0, segments[0].base if segments else active.base)
        if known_epochs is not None and known_epochs.first_start <= end:
            # The epochs were truncated at the log start, which may not have been written down anywhere else.
            if known_epochs.first_start > start and not self._epochs_have_checksum:
                self._report.notes.append(
                    f"{self._files.path} starts at {known_epochs.first_start}, as {LEADER_EPOCHS} says, "
                    f"which has no checksum yet; without it, the log would start at {start}"
                )
            start = max(start, known_epochs.first_start)
        if start > end:
            if segments or active.size:
                self._report.notes.append(
                    f"{self._files.path} ends at {end}, below its start {start}: all in it was deleted"
                )
            for segment in [*segments, active]:
                mark_for_deletion(segment, self._now_ms).run()
            segments, active, end, checked_from = [], self._create(start), start, None
        everything = [*segments, active]
        described_below = None if checked_from is None else self._described_below(checked_from, end)
        epochs = self._check_epochs(known_epochs, everything, start, end, described_below)
        self._losses.finish(start, end, epochs)
        files = ProducerSnapshotFiles(self._disk, self._files.path, snapshots)
        # A snapshot may have reached the disk when the batches it speaks of did not: a retry of those would
        # be taken for a duplicate. Only what is known to be flushed may be taken from one.
        first_base = everything[0].base
        producers = files.load(
            first_base, end if described_below is None else max(first_base, described_below)
        )
        replay(everything, producers, end)
        producers.expire(self._now_ms, self._files.config.producer_id_expiration_ms)
        self._report.trusts_too_much = recovery_point is not None and recovery_point > end
        durable_below = end if checked_from is None else min(recovery_point or 0, end)
        return Loaded(
            segments=SegmentList(segments, active),
            start=start,
            end=end,
            recovery_point=durable_below,
            complete_at=end if checked_from is None else None,
            epochs=epochs,
            producers=producers,
            snapshots=files,
            unsynced=self._unsynced,
            report=self._report,
            lost=self._losses.to_repair,
        )

    @property
    def _must_reach(self) -> Offset:
        """The log ended here or above. After a crash it may be truncated below its recovery point."""
        return self._losses.synced_below if self._was_clean else self._committed

    def _described_below(self, checked_from: Offset, end: Offset) -> Offset:
        """What was synced is known even where it is lost now: the files beside the batches tell of it."""
        if self._losses.lost is None:
            return checked_from
        return max(checked_from, min(self._losses.synced_below, end))

    def _make_directory(self) -> None:
        if not self._disk.is_dir(self._files.path):
            self._disk.make_dirs(self._files.path)

    def _create(self, base: Offset) -> ActiveSegment:
        segment = create_segment(self._files, base, self._now_ms)
        self._unsynced.add(segment.path + LOG)
        self._trust_no_name()
        return segment

    def _trust_no_name(self) -> None:
        """The directory may be new, with the topic's id in it, and not synced yet."""
        kept_beside = (PARTITION_METADATA, LEADER_EPOCHS)
        self._unsynced.add(
            *(f"{self._files.path}/{name}" for name in kept_beside), directory=self._files.path
        )
        self._unsynced.add(directory=self._files.parent)

    def _segment(self, base: Offset) -> Segment:
        return Segment(self._files, base, self._disk.size(self._files.file(base, LOG)), self._now_ms)

    def _sort_names(self) -> tuple[list[Offset], list[Offset], set[str]]:
        """Bases of segments, offsets of snapshots, all names; litter is removed."""
        names = set(self._disk.names(self._files.path))
        bases, snapshots = [], []
        for name in sorted(names):
            parsed = parse(name)
            offset, suffix = parsed or (0, "")
            if name.endswith((DELETED, RECOVERING, ".tmp")):
                self._remove(name)
            elif parsed is None:
                continue
            elif suffix.startswith(LOG + DAMAGED):
                self._report.kept.append(f"{self._files.path}/{name}")
            elif suffix == LOG:
                bases.append(offset)
            elif suffix == SNAPSHOT:
                snapshots.append(offset)
            elif suffix in (INDEX, TIME_INDEX, TXN_INDEX) and f"{offset:020d}{LOG}" not in names:
                self._remove(name)
        return bases, snapshots, names

    def _remove(self, name: str) -> None:
        self._disk.remove(f"{self._files.path}/{name}")
        self._report.removed.append(name)

    def _find_end(self, last: Segment) -> Offset | None:
        """Where a log that was closed in order ends; None if its last batches are not as they should be."""
        if not last.size:
            return last.base
        try:
            indexed, position = self._last_index_entry(last)
            if not 0 <= position < last.size:
                return None
            end = last.base
            for at, header in walk(last.file, position, last.size):
                if indexed is not None and header.last_offset != indexed:
                    return None
                indexed = None
                in_reach = end <= header.base_offset and header.last_offset - last.base <= RELATIVE_MAX
                if not in_reach or not crc_ok(last.read_batch(at, header), 0, header):
                    return None
                end = header.next_offset
                if self._tail_newest is None or header.max_timestamp > self._tail_newest[0]:
                    self._tail_newest = header.max_timestamp, header.last_offset
        except (KafkaError, CorruptIndex, FileNotFoundError):
            return None
        return end

    def _last_index_entry(self, segment: Segment) -> tuple[Offset | None, int]:
        path = segment.path + INDEX
        size = self._disk.size(path)
        if size % ENTRY_BYTES:
            raise CorruptIndex(f"{size} bytes")
        if not size:
            return None, 0
        file = self._disk.open(path)
        try:
            return OffsetIndex.read_last(segment.base, file.read_at(size - ENTRY_BYTES, ENTRY_BYTES))
        finally:
            file.close()

    def _recover(
        self, segments: list[Segment], trusted_below: Offset, names: set[str]
    ) -> tuple[ActiveSegment, Offset, Offset]:
        """Check what is not trusted; leaves the sealed ones in `segments`. (active, end, checked from)."""
        checked_from: Offset | None = None
        recovered: Recovered | None = None
        must_be_whole = self._files.config.is_replicated
        synced_below = self._losses.synced_below
        known = PriorKnowledge(
            synced_below=synced_below,
            torn_from=_NEVER if self._was_clean and self._recovery_point is None else synced_below,
            ended_at=self._recovery_point if self._was_clean else None,
        )
        for number, segment in enumerate(tuple(segments)):
            rest = segments[number + 1 :]
            above = rest[0].base if rest else None
            if above is not None and above <= trusted_below:
                self._check_index_files(segment, names)
                continue
            recovered = recover_segment(
                self._disk,
                segment,
                trusted_below,
                known,
                is_last=above is None,
                report=self._report,
                must_be_whole=must_be_whole,
                before_truncation=partial(self._set_aside, rest),
                on_lost=self._losses.note,
            )
            checked_from = recovered.scan_start if checked_from is None else checked_from
            may_have_gaps = self._files.config.compact or recovered.is_truncated  # compaction leaves them
            if above is not None and recovered.end < above and not may_have_gaps:
                self._report.gaps.append(Gap(segment.path + LOG, segment.size, recovered.end, above))
                if recovered.end < known.torn_from:
                    self._losses.note(recovered.end, above)
                elif must_be_whole:
                    self._set_aside(rest)
                    recovered.is_truncated = True
            if recovered.is_truncated:
                del segments[number + 1 :]
                break
            if above is not None:
                recovered.indexes.seal()
                recovered.indexes.write(self._disk, segment.path)
                segment.adopt(None, (recovered.indexes.newest_timestamp, recovered.indexes.newest_offset))
                self._unsynced.add(*(segment.path + suffix for suffix in (LOG, INDEX, TIME_INDEX)))
        last = segments.pop()
        if recovered is None or checked_from is None:
            broken("the last segment was not checked")
        active = activate(last, recovered.indexes)
        active.write_indexes()
        self._unsynced.add(*(last.path + suffix for suffix in (LOG, INDEX, TIME_INDEX)))
        self._trust_no_name()
        return active, recovered.end, checked_from

    def _set_aside(self, segments: list[Segment]) -> None:
        """They lie behind a hole. Their names say so from now on; the loader never reads them again."""
        for segment in reversed(segments):
            path = segment.path + LOG
            if segment.size:
                self._disk.rename(path, f"{path}{DAMAGED}0")
                self._report.kept.append(f"{path}{DAMAGED}0")
            for suffix in (LOG, INDEX, TIME_INDEX, TXN_INDEX):
                self._disk.remove(segment.path + suffix)
            segment.release()
        self._disk.sync_dir(self._files.path)

    def _check_index_files(self, segment: Segment, names: set[str]) -> None:
        """A segment that was flushed is trusted; its indexes are built anew where they cannot be right."""
        for suffix, entry_bytes in ((INDEX, ENTRY_BYTES), (TIME_INDEX, TIME_ENTRY.size)):
            path = segment.path + suffix
            if path.rpartition("/")[2] not in names or self._disk.size(path) % entry_bytes:
                segment.rebuild_indexes()
                self._report.rebuilt.append(segment.path)
                return

    def _read_epochs(self) -> LeaderEpochs | None:
        path = f"{self._files.path}/{LEADER_EPOCHS}"
        raw = read_file(self._disk, path)
        self._epochs_have_checksum = raw is not None and has_checksum(raw)
        try:
            return LeaderEpochs.load(raw, path) if raw is not None else None
        except StorageError as error:
            if self._was_clean or raw:  # a crash leaves an empty one, where it was not synced
                self._report.notes.append(f"{error}; the batches tell which epoch wrote what")
            self._epochs_are_bad = True
            return None

    @staticmethod
    def _epoch_at(offset: Offset, known: LeaderEpochs | None, segments: list[Segment]) -> Epoch:
        if known is None:
            known = LeaderEpochs()
            replay_epochs(segments, known, segments[0].base)
        return known.epoch_of(offset)

    def _check_epochs(
        self,
        known: LeaderEpochs | None,
        segments: list[Segment],
        start: Offset,
        end: Offset,
        checked_from: Offset | None,
    ) -> LeaderEpochs:
        """What the file says of batches that are there, and what the batches say that were checked."""
        epochs = LeaderEpochs() if known is None else known
        epochs.truncate_from_end(end)
        if start < end and not 0 <= epochs.first_start <= start:
            epochs, checked_from = LeaderEpochs(), segments[0].base
        if checked_from is not None:
            epochs.truncate_from_end(checked_from)  # the file may be older than these batches, or newer
            replay_epochs(segments, epochs, checked_from)
        epochs.truncate_from_start(start)
        epochs.begin_with(start)
        epochs.changed = epochs.changed or self._epochs_are_bad  # the next flush writes a good file
        return epochs


def load(
    files: LogFiles,
    now_ms: TimestampMs,
    recovery_point: Offset | None,
    *,
    clean: bool,
    log_start: Offset | None,
    committed: Offset | None,
) -> Loaded:
    def loader() -> Loader:
        return Loader(files, now_ms, recovery_point, committed or 0, clean)

    try:
        return loader().load(recovery_point, clean, log_start)
    except KafkaError:  # a batch that was trusted is damaged: trust nothing, so that it is found and named
        return loader().load(None, False, log_start)
