"""The offsets that a log is known to have held and holds no longer, written down until it has them again.

Recovery leaves a log that looks whole: the damaged bytes lie in a file beside it, and the next start would
not notice. The file `lost-range-checkpoint` in the partition directory says so: `first end epoch`, the bounds
of what is missing, and the leader epoch that wrote the last of it. A replica with this file must not lead
while another one may have what it lost. Where the topic had no other replica, the line ends with `final`: the
loss is reported, and nothing waits for a repair.
"""

from typing import NamedTuple

from tidelog.base.ids import NO_EPOCH, Epoch, Offset
from tidelog.base.ports import Disk, read_file, replace_file
from tidelog.storage.file_names import LOST_RANGE
from tidelog.storage.log_dir import checkpoint_text

_FINAL = "final"


class LostRange(NamedTuple):
    first: Offset
    """Records from here on are missing; not necessarily all of them."""
    end: Offset
    """The log was known to reach up to here. No offset below is ever given out again."""
    epoch: Epoch = NO_EPOCH
    """That wrote the last of them: a replica which has that, too, has them all. -1 where it is not known."""
    is_final: bool = False
    """There is no other replica that could have them."""

    def __str__(self) -> str:
        return f"{self.first} to {self.end - 1}"

    def joined(self, other: "LostRange | None") -> "LostRange":
        if other is None:
            return self
        first, end = min(self.first, other.first), max(self.end, other.end)
        return LostRange(first, end, max(self.epoch, other.epoch))


def read(disk: Disk, directory: str) -> LostRange | None:
    """ValueError where the file is damaged itself: then it is unknown how much is missing."""
    raw = read_file(disk, f"{directory}/{LOST_RANGE}")
    if raw is None:
        return None
    [line] = checkpoint_text.load(raw)
    first, end, epoch, *final = line.split(" ")
    return LostRange(int(first), int(end), int(epoch), final == [_FINAL])


def write(disk: Disk, directory: str, lost: LostRange) -> None:
    """Durable when this returns."""
    line = f"{lost.first} {lost.end} {lost.epoch}" + (f" {_FINAL}" if lost.is_final else "")
    replace_file(disk, f"{directory}/{LOST_RANGE}", checkpoint_text.dump([line]))


def remove(disk: Disk, directory: str) -> None:
    disk.remove(f"{directory}/{LOST_RANGE}")
    disk.sync_dir(directory)
