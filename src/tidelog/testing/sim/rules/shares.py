"""What must hold between share partitions at work and the coordinators that store their state."""

from collections.abc import Iterator

from tidelog.base.ids import Offset
from tidelog.broker.shares.led_share import LedShare
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.topics.names import SHARE_GROUP_STATE
from tidelog.shares.partition.chunk import CHUNK_RECORDS
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.place import SharePlace
from tidelog.shares.state.shard import ShareStateShard
from tidelog.shares.state.stored import StoredState
from tidelog.testing.sim.cluster.view import View, newest

Fate = tuple[bool, int]
"""Whether a record is done, and if not, how often it was delivered before its present holder got it."""
FRESH: Fate = (False, 0)


class StoredNeverGoesBack:
    """Once committed, the start offset of a state stays or grows within its epoch, and so do both epochs."""

    def __init__(self) -> None:
        self._before: dict[SharePlace, tuple[int, int, Offset]] = {}

    def check(self, seen: list[View]) -> Iterator[str]:
        for shard in _coordinators(seen, committed=True):
            for place in shard:
                state = _stored(shard, place)
                now = state.state_epoch, state.leader_epoch, state.window.start
                before = self._before.get(place, now)
                self._before[place] = max(before, now)
                is_back = now[1] < before[1] or (now[0] == before[0] and now[2] < before[2])
                if now[0] < before[0] or is_back:
                    yield (
                        f"the state of {place.group_id} at partition {place.partition} went from {before} to "
                        f"{now} (state epoch, leader epoch, start offset)"
                    )


class SavedIsStored:
    """What a leader takes for saved, the coordinator has: after a change of the leader nothing is missing."""

    def __init__(self) -> None:
        self._checked: dict[SharePlace, tuple[str, int]] = {}
        """The life and the version that was looked at last."""

    def check(self, seen: list[View]) -> Iterator[str]:
        best = newest(seen)
        saved = [] if best is None else list(_saved(seen, best.image))
        if not saved:
            return
        shards = list(_coordinators(seen))
        for life, led in saved:
            place, key = led.place, (life, led.share.saved_version)
            if self._checked.get(place) == key:
                continue
            for shard in shards:
                state = _stored(shard, place) if place in shard else None
                if state is not None and _is_of(state, led):
                    self._checked[place] = key
                    yield from _differences(life, led, state)


def _differences(life: str, led: LedShare, state: StoredState) -> Iterator[str]:
    share, start = led.share, state.window.start
    what = f"{led.place.group_id} at {led.partition.topic}-{led.partition.index} on {life}"
    if share.start_offset != start:
        yield f"{what} starts at {share.start_offset}, and {start} is stored"
        return
    working, stored = dict(_working(share)), dict(_kept(state))
    for offset in sorted(working.keys() | stored.keys()):
        fates = working.get(offset, FRESH), stored.get(offset, FRESH)
        if offset >= start and fates[0] != fates[1]:
            yield f"{what}: the record at {offset} is {fates[0]} (done, deliveries), and {fates[1]} is stored"
            return


def _working(share: SharePartition) -> Iterator[tuple[Offset, Fate]]:
    for index, chunk in share._window.chunks.items():
        base = index * CHUNK_RECORDS
        for at in range(chunk.done.bit_length()):
            if chunk.done >> at & 1:
                yield base + at, (True, 0)
        for count, bits in chunk.counts.groups(~chunk.done & ((1 << CHUNK_RECORDS) - 1)):
            for at in range(bits.bit_length() if count else 0):
                if bits >> at & 1:
                    yield base + at, (False, count - (chunk.held >> at & 1))


def _kept(state: StoredState) -> Iterator[tuple[Offset, Fate]]:
    for batch in state.window.batches()[0]:
        fate = (True, 0) if batch.state.is_done else (False, batch.delivery_count)
        for offset in range(batch.first_offset, batch.last_offset + 1):
            yield offset, fate


def _saved(seen: list[View], image: ClusterImage) -> Iterator[tuple[str, LedShare]]:
    """The share partitions of the present leaders that have nothing left to save."""
    for view in seen:
        for led in view.shares:
            partition = image.partition(led.partition.topic, led.partition.index)
            is_leader = partition is not None and partition.leader_epoch == led.leader_epoch
            if is_leader and led.is_current and led.is_loaded and led.saver.is_saved:
                yield view.life, led


def _coordinators(seen: list[View], *, committed: bool = False) -> Iterator[ShareStateShard]:
    """The present ones; `committed`: those of which no replica misses anything."""
    best = newest(seen)
    for view in seen:
        for served in view.node.services.share_states.service:
            log = served.partition
            image = None if best is None else best.image.partition(SHARE_GROUP_STATE, log.index)
            is_present = image is not None and image.leader_epoch == log.leader_epoch and log.is_leader
            if is_present and (not committed or log.high_watermark == log.log.end):
                yield served.shard_as_written


def _stored(shard: ShareStateShard, place: SharePlace) -> StoredState:
    return shard._states[place]


def _is_of(state: StoredState, led: LedShare) -> bool:
    """Whether the leader may still write. One that does not know of a later leader, or that the group was
    reset, has old records."""
    return (state.leader_epoch, state.state_epoch) == (led.leader_epoch, led.share.state_epoch)
