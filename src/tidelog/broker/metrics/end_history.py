"""Where a partition ended, and when: a short history, from which an offset gets its age.

The resolution is relative: the last seconds are known to the second, the last day to about an hour. So a few
dozen samples are enough for a group that is a moment behind and for one that stopped days ago.
"""

from array import array
from bisect import bisect_right

from tidelog.base.ids import Offset

SAMPLES_MAX = 32


class EndHistory:
    """Less than a kilobyte for a partition, however long it is watched."""

    __slots__ = ("_ends", "_times", "wanted_in")

    def __init__(self) -> None:
        self._times = array("d")
        self._ends = array("q")
        self.wanted_in = 0
        """The round in which a group was last seen to have an offset there."""

    def __len__(self) -> int:
        return len(self._times)

    @property
    def end(self) -> Offset:
        """As sampled last. There is a sample at least."""
        return self._ends[-1]

    def add(self, now: float, end: Offset) -> None:
        times, ends = self._times, self._ends
        if ends and end < ends[-1]:
            # An unclean election, or a topic that was made anew: what was known is of other records.
            del times[:], ends[:]
        if len(ends) > 1 and ends[-1] == ends[-2] == end:
            times[-1] = now  # nothing came: it is enough to know since when, and until when
            return
        times.append(now)
        ends.append(end)
        if len(times) > SAMPLES_MAX:
            self._forget_one(now)

    def _forget_one(self, now: float) -> None:
        """Drop the sample whose absence matters least for its age; never the first or one of the last two."""
        times = self._times.tolist()
        gaps = [
            (after - before) / (now - time + 1.0)
            for before, time, after in zip(times, times[1:], times[2:-1], strict=False)
        ]
        number = gaps.index(min(gaps)) + 1
        del self._times[number], self._ends[number]

    def age(self, offset: Offset, now: float, end: Offset) -> float:
        """Returns how long ago the partition, which ends at `end` now, ended at `offset`.

        Since then the record with this offset waits to be read; 0 where there is none.

        For an offset below the first sample it is the time since that sample: the true age is larger.
        """
        times, ends = self._times, self._ends
        if offset >= end or not times:
            return 0.0
        at = bisect_right(ends, offset)
        if at == 0:
            return now - times[0]
        before, ended_before = times[at - 1], ends[at - 1]
        after, ended_after = (times[at], ends[at]) if at < len(times) else (now, end)
        # Records came at a steady pace between two samples, as far as is known.
        share = (offset - ended_before) / (ended_after - ended_before)
        return max(0.0, now - before - share * (after - before))
