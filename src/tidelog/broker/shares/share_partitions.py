"""The share partitions of this broker: one for each group at each partition that it leads and a member reads.

They are loaded with the first fetch, and dropped when the partition gets another leader or is deleted, when
the group has no session here any more, or after a while without use. Dropping loses nothing: what is
acknowledged was saved before it was answered.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import TimestampMs, Uuid
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.hosted import HostedPartitions
from tidelog.broker.shares.alarms import ShareAlarms
from tidelog.broker.shares.group_limits import GroupLimits
from tidelog.broker.shares.large_states import StateReader
from tidelog.broker.shares.led_share import LedShare
from tidelog.broker.shares.ports import HeldBack, StateStore
from tidelog.broker.shares.sessions import ShareMember, ShareSessions
from tidelog.broker.shares.share_loading import load_state
from tidelog.metadata.image.image import ImageDelta
from tidelog.shares.partition.share_partition import SharePartition
from tidelog.shares.partition.tally import Tally
from tidelog.shares.place import SharePlace

if TYPE_CHECKING:
    from tidelog.broker.shares.dead_letters.writer import DeadLetters
    from tidelog.broker.shares.schedule.schedule import Schedule

IDLE_SECONDS = 300.0
SWEEP_SECONDS = 60.0

log = logging.getLogger("tidelog.broker.shares")


class SharePartitions:
    def __init__(
        self, clock: Clock, metadata: MetadataService, hosted: HostedPartitions, store: StateStore
    ) -> None:
        self.clock = clock
        self.limits = GroupLimits(metadata)
        self.sessions = ShareSessions(lambda: metadata.config.int("group.share.max.share.sessions"))
        self.tally = Tally()
        self.held_back: HeldBack | None = None
        """Knows the records that are not to be delivered yet; None: every record is."""
        self.on_loaded: Callable[[LedShare], None] | None = None
        self.on_archiving: Callable[[LedShare], None] | None = None
        """Called when a save brought dead letters, or left some."""
        self.on_dropped: list[Callable[[LedShare], None]] = []
        self.dead_letter_problem: Callable[[LedShare], str | None] | None = None
        """Says why dead letters cannot be written at the moment; None where they can."""
        self.scheduled_due: Callable[[LedShare], TimestampMs | None] | None = None
        """Says when the next scheduled record is due."""
        self.dead_letters: DeadLetters | None = None
        self.schedule: Schedule | None = None
        self.begun_loads: set[tuple[Uuid, int]] | None = None
        """While it is a set: the partitions of which a state is being loaded since then."""
        self._hosted = hosted
        self.reader = StateReader(store)
        self._store = store
        self._alarms = ShareAlarms(clock)
        self._led: dict[SharePlace, LedShare] = {}
        self._of_group: dict[str, dict[SharePlace, LedShare]] = {}
        self._loads: dict[LedShare, asyncio.Task[None]] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False
        metadata.on_change(self.on_change)

    def __iter__(self) -> Iterator[LedShare]:
        return iter(tuple(self._led.values()))

    def __len__(self) -> int:
        return len(self._led)

    def find(self, group_id: str, topic_id: Uuid, index: int) -> LedShare:
        """The share partition, which may still be loading.

        KafkaError where this broker does not lead the partition.
        """
        place = SharePlace(group_id, topic_id, index)
        led = self._led.get(place)
        if self._is_closed:
            raise _not_leader()
        if led is None or not self._is_current(led) or _may_be_outdated(led):
            if led is not None:
                self._drop(led, _not_leader())
            return self._begin(place)
        led.is_leaving = False
        if led.is_loaded:
            self._refresh(led)
        return led

    def loaded(self, group_id: str, topic_id: Uuid, index: int) -> LedShare | None:
        """The share partition if it is loaded; a partition of which nothing is held need not be."""
        led = self._led.get(SharePlace(group_id, topic_id, index))
        return led if led is not None and led.is_loaded and self._is_current(led) else None

    def _is_current(self, led: LedShare) -> bool:
        """A partition that was moved to other brokers keeps the role that it had here."""
        place = led.place
        return led.is_current and self._hosted.current(place.topic_id, place.partition) is led.partition

    def check_leads(self, topic_id: Uuid, index: int) -> None:
        """KafkaError where this broker does not lead the partition, or there is none."""
        self._hosted.find(topic_id, index).check_leader()

    def _refresh(self, led: LedShare) -> bool:
        """Returns whether the group's settings are others than before."""
        group_id = led.place.group_id
        before = led.share.limits, led.read_limit
        led.share.limits = self.limits.of(group_id)
        led.read_limit = self.limits.read_limit(group_id)
        return before != (led.share.limits, led.read_limit)

    # Members

    def end_session(self, member: ShareMember) -> None:
        """The session is over: what the member holds is available to others."""
        self.sessions.close(member)
        self._release(member.group_id, {member.member_id})

    def connection_closed(self, connection_id: int) -> None:
        ended: dict[str, set[str]] = {}
        for group_id, member_id in self.sessions.close_connection(connection_id):
            ended.setdefault(group_id, set()).add(member_id)
        for group_id, member_ids in ended.items():
            self._release(group_id, member_ids)

    def _release(self, group_id: str, member_ids: Set[str]) -> None:
        """One pass for all of them: a connection may have many members, and a group many locks."""
        is_last = not self.sessions.has_group(group_id)
        for led in tuple(self._of_group.get(group_id, {}).values()):
            led.release(member_ids)
            if is_last:
                # Without members, the group's state may be altered or deleted elsewhere.
                led.is_leaving = True
                self._drop_if_leaving(led)

    # Load and drop

    def _begin(self, place: SharePlace) -> LedShare:
        partition = self._hosted.find(place.topic_id, place.partition)
        partition.check_leader()
        led = LedShare(place, partition, self.clock, self._alarms.set)
        self._led[place] = led
        self._of_group.setdefault(place.group_id, {})[place] = led
        if self.begun_loads is not None:
            self.begun_loads.add((place.topic_id, place.partition))
        loop = asyncio.get_running_loop()
        self._loads[led] = loop.create_task(self._load(led), name="share partition load")
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._drop_idle)
        return led

    async def _load(self, led: LedShare) -> None:
        group_id = led.place.group_id
        try:
            reset = self.limits.config(group_id).text("share.auto.offset.reset")
            load = await load_state(led, self.reader, self._store, reset, self.clock.now_ms())
        except KafkaError as error:
            self._drop(led, error)
            return
        except Exception:
            log.exception("the state of share group %s cannot be loaded", group_id)
            self._drop(led, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        finally:
            self._loads.pop(led, None)
        if led.error is not None or not led.is_current:
            self._drop(led, _not_leader())
            return
        led.loaded(
            SharePartition(load, self.limits.of(group_id), self.tally),
            self._store,
            on_saved=self._saved,
            on_fenced=self._drop,
        )
        self._refresh(led)
        if self.on_loaded is not None:
            self.on_loaded(led)
        self._saved(led)

    def _saved(self, led: LedShare) -> None:
        if led.share.has_archiving and self.on_archiving is not None:
            self.on_archiving(led)
        if led.is_leaving:
            self._drop_if_leaving(led)

    def _drop_if_leaving(self, led: LedShare) -> None:
        if led.is_leaving and led.is_disposable:
            self._drop(led, _not_leader())

    def _drop(self, led: LedShare, error: KafkaError) -> None:
        if self._led.get(led.place) is led:
            del self._led[led.place]
            of_group = self._of_group[led.place.group_id]
            del of_group[led.place]
            if not of_group:
                del self._of_group[led.place.group_id]
        if (load := self._loads.pop(led, None)) is not None and load is not asyncio.current_task():
            load.cancel()  # what it would still write, another load may have replaced by then
        led.drop(error)
        for listener in self.on_dropped:
            listener(led)

    def _drop_idle(self) -> None:
        self._sweep = None
        before = self.clock.monotonic() - IDLE_SECONDS
        for led in tuple(self._led.values()):
            if led.last_used <= before and led.is_disposable:
                self._drop(led, _not_leader())
        if self._led:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._drop_idle)

    # Following the metadata

    def on_change(self, delta: ImageDelta) -> None:
        before, after = delta.before, delta.after
        if (
            after.group_configs is not before.group_configs
            or after.broker_configs is not before.broker_configs
            or after.features is not before.features
        ):
            for led in self:
                if led.is_loaded and self._refresh(led):
                    led.changed()  # fetches that wait may get more now
        if not self._led or not (delta.topics_deleted or delta.partitions_changed):
            return
        deleted = {topic.id for topic in delta.topics_deleted}
        for led in tuple(self._led.values()):
            if led.place.topic_id in deleted:
                self._drop(led, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted"))
            elif not self._is_current(led):
                self._drop(led, _not_leader())

    def close(self) -> None:
        """The broker stops: clients find the new leaders."""
        self._is_closed = True
        self._alarms.close()
        if self._sweep is not None:
            self._sweep.cancel()
        for led in tuple(self._led.values()):
            self._drop(led, _not_leader())


def _may_be_outdated(led: LedShare) -> bool:
    """Whether the group was without members since the load began, and its state may have been altered.

    Dead letters that wait keep such a share partition; all that is saved of them is loaded again.
    """
    return led.is_leaving and (not led.is_loaded or led.saver.is_saved)


def _not_leader() -> KafkaError:
    return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the partition has another leader, or will have soon")
