"""Broker heartbeats: the sessions that the active controller keeps in memory, and its decision on a
heartbeat.

Sessions are not metadata: they are lost with the controller. A new controller starts a full session for every
broker, so no broker is fenced for an outage of the previous controller. Time is the caller's monotonic clock.
"""

from collections.abc import Iterable, Sequence

import msgspec

from tidelog.base.config.config import BrokerConfig
from tidelog.base.ids import NO_OFFSET, Epoch, NodeId, Offset, Uuid
from tidelog.metadata.brokers.brokers import (
    decide_controlled_shutdown,
    decide_fence_broker,
    decide_unfence_broker,
    decide_unregister_broker,
)
from tidelog.metadata.brokers.directories import decide_directories_offline
from tidelog.metadata.brokers.registration_rules import check_broker_epoch
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.topics.cordons import is_drained


class _Session:
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
        self._sessions: dict[NodeId, _Session] = {}
        self._looked: float | None = None

    def begin(self, brokers: Iterable[BrokerImage], now: float) -> None:
        """Starts a full session for every broker that is not fenced, when this node becomes the
        controller."""
        self._sessions = {
            broker.id: _Session(broker.epoch, now, NO_OFFSET) for broker in brokers if not broker.fenced
        }

    def touch(self, broker_id: NodeId, epoch: Epoch, now: float, offset: Offset = NO_OFFSET) -> None:
        """`offset` is the metadata offset that the broker has applied; it does not go back within an
        epoch."""
        session = self._sessions.get(broker_id)
        if session is None or session.epoch != epoch:
            self._sessions[broker_id] = _Session(epoch, now, offset)
            return
        session.heard = max(session.heard, now)
        session.offset = max(session.offset, offset)

    def forget(self, broker_id: NodeId) -> None:
        self._sessions.pop(broker_id, None)

    def is_alive(self, broker_id: NodeId, now: float) -> bool:
        session = self._sessions.get(broker_id)
        return session is not None and now - session.heard <= self.timeout_s

    def expired(self, now: float) -> list[NodeId]:
        """Returns the brokers whose session has expired, the longest first. Call it often.

        Two calls that are half a session apart show that the controller itself stood still: heartbeats sent
        in the meantime are still unread, so that time does not count against any broker.
        """
        if self._looked is not None and now - self._looked > self.timeout_s / 2:
            for session in self._sessions.values():
                session.heard = min(now, session.heard + now - self._looked)
        self._looked = now
        silent = [id for id, session in self._sessions.items() if now - session.heard > self.timeout_s]
        return sorted(silent, key=lambda id: (self._sessions[id].heard, id))

    def last_contact(self, broker_id: NodeId) -> float | None:
        session = self._sessions.get(broker_id)
        return None if session is None else session.heard

    def handed_over(self, broker_id: NodeId, offset: Offset) -> None:
        """The record at `offset` was the last that moved leadership away from a stopping broker."""
        if (session := self._sessions.get(broker_id)) is not None:
            session.handed_over = max(session.handed_over, offset)

    def others_know(self, broker_id: NodeId, image: ClusterImage) -> bool:
        """Whether all active brokers have applied that record: from then on no client needs the old
        leader."""
        session = self._sessions.get(broker_id)
        if session is None:
            return True
        return all(
            other.offset >= session.handed_over
            for id, other in self._sessions.items()
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
    image: ClusterImage,
    beat: Heartbeat,
    *,
    others_know: bool,
    votes: bool = False,
    config: BrokerConfig | None = None,
) -> Decision[HeartbeatResult]:
    """Fenced -> active once it has caught up with the metadata; active -> stopping -> fenced on shutdown.

    A stopping broker may leave when it leads nothing that another replica could lead, and `others_know` of
    the last change of leadership. It is fenced in the same step, so that no client waits for its session to
    expire. A broker that was drained is unregistered instead, unless it still `votes` on the metadata.
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
        return _stopping(image, broker, is_caught_up, others_know=others_know, votes=votes, config=config)
    return Decision([], [HeartbeatResult(is_caught_up, False)])


def _stopping(
    image: ClusterImage,
    broker: BrokerImage,
    is_caught_up: bool,
    *,
    others_know: bool,
    votes: bool,
    config: BrokerConfig | None,
) -> Decision[HeartbeatResult]:
    shutdown = decide_controlled_shutdown(image, broker.id, config)
    if shutdown.records or any(shutdown.results) or not others_know:
        return Decision(shutdown.records, [HeartbeatResult(is_caught_up, False)])
    leave = decide_fence_broker if votes or not is_drained(image, broker.id) else decide_unregister_broker
    return Decision(leave(image, broker.id, config).records, [HeartbeatResult(is_caught_up, True, True)])
