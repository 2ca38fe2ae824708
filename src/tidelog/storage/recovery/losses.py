"""What a log lost to damage, from the moment that recovery finds it: written down, reported, left as a gap.

The order matters. The loss is written down before the damaged file is touched: afterwards the log looks
whole, and a crash in between must not let the loss be forgotten. Offsets that were given out stay taken: an
empty batch covers those at the end of the log, as compaction leaves one, and readers pass over it.
"""

from tidelog.base.ids import NO_EPOCH, NO_TIMESTAMP, Epoch, Offset, TimestampMs
from tidelog.storage.file_names import LOST_RANGE
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.storage.log_files import LogFiles
from tidelog.storage.recovery import lost_range
from tidelog.storage.recovery.lost_range import LostRange
from tidelog.storage.recovery.report import Loss, RecoveryReport
from tidelog.storage.segment.active import ActiveSegment, create_segment
from tidelog.storage.segment.offset_index import RELATIVE_MAX
from tidelog.storage.segment.segment import Segment
from tidelog.wire.record import write_batch


class Losses:
    def __init__(self, files: LogFiles, report: RecoveryReport) -> None:
        self._files = files
        self._disk = files.disk
        self._report = report
        self.synced_below: Offset = 0
        """All below was on stable storage once, so what is missing of it is lost."""
        self.epochs: LeaderEpochs | None = None
        """As their file has them, which knows of lost batches, too."""
        self.lost: LostRange | None = None

    def read(self) -> None:
        """Read the loss that an earlier start found, and that is not repaired yet."""
        try:
            self.lost = lost_range.read(self._disk, self._files.path)
        except ValueError as error:
            self._report.notes.append(f"{self._files.path}/{LOST_RANGE} is damaged ({error})")
            self.lost = LostRange(0, max(1, self.synced_below))
            lost_range.write(self._disk, self._files.path, self.lost)

    def note(self, first: Offset, end: Offset) -> None:
        """Records from `first` on are gone, of a log that reached up to `end` or further."""
        end = max(end, self.synced_below, first + 1)
        lost = LostRange(first, end, self._epoch_at(end - 1)).joined(self.lost)
        if lost != self.lost:
            lost_range.write(self._disk, self._files.path, lost)
            self.lost = lost

    def cover(
        self, segments: list[Segment], active: ActiveSegment, end: Offset, epoch: Epoch, now_ms: TimestampMs
    ) -> tuple[ActiveSegment, Offset]:
        """Let the log, which ends at `end`, reach as far as it once did. (active segment, end)."""
        until = end if self.lost is None else self.lost.end
        while end < until:
            if end - active.base >= RELATIVE_MAX:
                segments.append(active.seal())
                active = create_segment(self._files, end, now_ms)
            last = min(until - 1, active.base + RELATIVE_MAX)
            batch = write_batch([], base_offset=end, leader_epoch=epoch, last_offset_delta=last - end)
            active.file.write_at(active.size, [batch])
            active.note(end, last, len(batch), NO_TIMESTAMP)
            active.file.sync()
            end = last + 1
        return active, end

    def finish(self, start: Offset, end: Offset, epochs: LeaderEpochs) -> None:
        """The log reaches from `start` to `end`. What was deleted in the meantime is no loss any more.

        `epochs` are those of the batches that are there, of which the file may not know yet.
        """
        lost = self.lost
        if lost is None:
            return
        if lost.end <= start:
            lost_range.remove(self._disk, self._files.path)
            self.lost = None
            return
        # Once final, it stays so: replicas that the topic gets later have it from this one.
        is_final = lost.is_final or not self._files.config.is_replicated
        epoch = max(lost.epoch, epochs.epoch_of(end - 1))
        self.lost = LostRange(max(lost.first, start), lost.end if is_final else end, epoch, is_final)
        if self.lost != lost:
            lost_range.write(self._disk, self._files.path, self.lost)
        self._report.losses.append(Loss(self._files.path, self.lost))

    def _epoch_at(self, offset: Offset) -> Epoch:
        return NO_EPOCH if self.epochs is None else self.epochs.epoch_of(offset)

    @property
    def to_repair(self) -> LostRange | None:
        return None if self.lost is None or self.lost.is_final else self.lost
