"""Heartbeats: what the active controller remembers of them, and what it decides on one.

The memory is not metadata: it is lost with the controller. A new one takes every broker as heard of just
now, so nobody is fenced for the silence of the controller before. Time is the caller's monotonic clock.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import NO_OFFSET, Epoch, NodeId, Offset, Uuid
from tidelog.metadata.brokers.brokers import (
    decide_controlled_shutdown,
    decide_fence_broker,
    decide_unfence_broker,
)
from tidelog.metadata.brokers.directories import decide_directories_offline
from tidelog.metadata.brokers.registration_rules import check_broker_epoch
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ClusterImage


class _Contact:
    __slots__ = ("epoch", "handed_over", "heard", "offset")

    def __init__(self, epoch: Epoch, heard: float, offset: Offset) -> None:
        self.epoch = epoch
        self.heard = heard
        self.offset = offset
        self.handed_over = NO_OFFSET


class BrokerSessions:
    """A broker is alive while its last heartbeat is no older than `timeout_s`."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._contacts: dict[NodeId, _Contact] = {}
        self._looked: float | None = None

    def begin(self, brokers: Iterable[BrokerImage], now: float) -> None:
        """On becoming the controller: a full session for everybody who is not fenced."""
        self._contacts = {
            broker.id: _Contact(broker.epoch, now, NO_OFFSET) for broker in brokers if not broker.fenced
        }

    def touch(self, broker_id: NodeId, epoch: Epoch, now: float, offset: Offset = NO_OFFSET) -> None:
        """`offset` is how far the broker follows the metadata; it does not go back within an epoch."""
        contact = self._contacts.get(broker_id)
        if contact is None or contact.epoch != epoch:
            self._contacts[broker_id] = _Contact(epoch, now, offset)
            return
        contact.heard = max(contact.heard, now)
        contact.offset = max(contact.offset, offset)

    def forget(self, broker_id: NodeId) -> None:
        self._contacts.pop(broker_id, None)

    def is_alive(self, broker_id: NodeId, now: float) -> bool:
        contact = self._contacts.get(broker_id)
        return contact is not None and now - contact.heard <= self.timeout_s

    def expired(self, now: float) -> list[NodeId]:
        """The brokers that have been silent for too long, the longest first. To be asked often.

        Between two questions that are half a session apart the controller itself stood still: what was sent
        meanwhile still waits to be read, so that time does not count against anybody.
        """
        if self._looked is not None and now - self._looked > self.timeout_s / 2:
            for contact in self._contacts.values():
                contact.heard = min(now, contact.heard + now - self._looked)
        self._looked = now
        silent = [id for id, contact in self._contacts.items() if now - contact.heard > self.timeout_s]
        return sorted(silent, key=lambda id: (self._contacts[id].heard, id))

    def last_contact(self, broker_id: NodeId) -> float | None:
        contact = self._contacts.get(broker_id)
        return None if contact is None else contact.heard

    def handed_over(self, broker_id: NodeId, offset: Offset) -> None:
        """What a stopping broker led was last given to others by the record at `offset`."""
        if (contact := self._contacts.get(broker_id)) is not None:
            contact.handed_over = max(contact.handed_over, offset)

    def others_know(self, broker_id: NodeId, image: ClusterImage) -> bool:
        """Whether all active brokers have seen that hand-over: from then on no client needs the old one."""
        contact = self._contacts.get(broker_id)
        if contact is None:
            return True
        return all(
            other.offset >= contact.handed_over
            for id, other in self._contacts.items()
            if id != broker_id and id in image.brokers and image.brokers[id].is_active
        )


class Heartbeat(msgspec.Struct, frozen=True):
    broker_id: NodeId
    broker_epoch: Epoch
    metadata_offset: Offset
    wants_fence: bool = False
    wants_shutdown: bool = False
    offline_directories: Sequence[Uuid] = ()


class HeartbeatResult(msgspec.Struct, frozen=True):
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool = False


def decide_heartbeat(
    image: ClusterImage, beat: Heartbeat, *, others_know: bool, config: BrokerConfig | None = None
) -> Decision[HeartbeatResult]:
    """Fenced -> active once it follows the metadata; active -> stopping -> fenced when it wants to leave.

    A stopping broker may go when nothing is left that another replica could take over, and `others_know`
    of the last hand-over. It is fenced in the same step, so that nobody waits for its session to end.
    """
    broker = check_broker_epoch(image, beat.broker_id, beat.broker_epoch)
    is_caught_up = beat.metadata_offset >= broker.epoch
    if broker.fenced:
        if beat.wants_fence or beat.wants_shutdown or not is_caught_up:
            return Decision([], [HeartbeatResult(is_caught_up, True, beat.wants_shutdown)])
        unfenced = decide_unfence_broker(image, broker.id, broker.epoch, config)
        return Decision(unfenced.records, [HeartbeatResult(is_caught_up, False)])
    if beat.wants_fence:
        fenced = decide_fence_broker(image, broker.id, config)
        return Decision(fenced.records, [HeartbeatResult(is_caught_up, True, beat.wants_shutdown)])
    if beat.offline_directories:
        failed = decide_directories_offline(image, broker.id, broker.epoch, beat.offline_directories, config)
        if failed.records:
            all_failed = all(directory in beat.offline_directories for directory in broker.directories)
            return Decision(failed.records, [HeartbeatResult(is_caught_up, all_failed)])
    if beat.wants_shutdown or broker.shutting_down:
        return _stopping(image, broker, is_caught_up, others_know, config)
    return Decision([], [HeartbeatResult(is_caught_up, False)])


def _stopping(
    image: ClusterImage,
    broker: BrokerImage,
    is_caught_up: bool,
    others_know: bool,
    config: BrokerConfig | None,
) -> Decision[HeartbeatResult]:
    handover = decide_controlled_shutdown(image, broker.id, config)
    if handover.records or any(handover.results) or not others_know:
        return Decision(handover.records, [HeartbeatResult(is_caught_up, False)])
    fenced = decide_fence_broker(image, broker.id, config)
    return Decision(fenced.records, [HeartbeatResult(is_caught_up, True, True)])
