"""The history of share groups by record: its deliveries, acknowledgements and locks in each group, and what
a missing answer may have hidden."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.shares.states import AckType
from tidelog.testing.checks.observed import Observed
from tidelog.testing.history import Completion, History, Operation, Partition, Sent
from tidelog.testing.share_history import (
    NOT_HELD,
    UNKNOWN_EPOCH,
    Ack,
    Acknowledge,
    GroupEnd,
    LogStart,
    ShareGroupPlan,
    ShareHistory,
    Stored,
    Take,
    Taken,
)

SLOWEST_CLOCK = 0.75
"""Monotonic clocks of brokers run fast by up to a quarter here, and a lock ends by them."""

FINAL_TYPES = (AckType.ACCEPT, AckType.REJECT)
OF_RECORDS = (ErrorCode.INVALID_RECORD_STATE.name, ErrorCode.INVALID_REQUEST.name)
"""Errors of records, which a session is needed for."""


class RecordKey(NamedTuple):
    group: str
    partition: Partition
    offset: int

    def __str__(self) -> str:
        return f"{self.partition} at {self.offset} of {self.group}"


class Delivery(NamedTuple):
    take: Take
    taken: Taken

    def __str__(self) -> str:
        return (
            f"{self.take.member} (delivery {self.taken.count}, epoch {self.taken.epoch}, "
            f"{self.take.started:.3f} to {self.take.ended:.3f} s)"
        )


class RecordedAck(NamedTuple):
    request: Acknowledge
    ack: Ack

    def __str__(self) -> str:
        return (
            f"{AckType(self.ack.type).name} of {self.request.member} (delivery {self.ack.count}, "
            f"epoch {self.ack.epoch}, {self.request.started:.3f} to {self.request.ended:.3f} s)"
        )

    @property
    def is_ok(self) -> bool:
        return self.ack.outcome is Completion.OK


def is_of_older_leader(delivery: Delivery, recorded: RecordedAck) -> bool:
    """A replaced leader that has not heard of its successor delivers what it has. It can save nothing, so
    every acknowledgement of such a delivery is refused."""
    return UNKNOWN_EPOCH < delivery.taken.epoch < recorded.ack.epoch


Begun = tuple[Take | Acknowledge, int, str]
"""What begins a lock or makes it last longer, its epoch and its member."""


class Hold(NamedTuple):
    """From `start` to `end` a member certainly has the lock of a record."""

    member: str
    start: float
    end: float
    life: tuple[str, int]


def _shows_session(ack: Ack) -> bool:
    """Whether the answer came from the member's session. A broker that has none, since its connection broke,
    answers, too."""
    return ack.outcome is Completion.OK or ack.error in OF_RECORDS


class SharesSeen:
    def __init__(self, history: History, shares: ShareHistory) -> None:
        self.observed = Observed(history)
        self.plans: dict[str, ShareGroupPlan] = {}
        self.deliveries: dict[RecordKey, list[Delivery]] = {}
        self.acks: dict[RecordKey, list[RecordedAck]] = {}
        self.takes: list[Take] = []
        self.log_starts: list[LogStart] = []
        self.ends: list[GroupEnd] = []
        self.stored: list[Stored] = []
        self._last_answers: dict[str, float] = {}
        """For each connection, when the last request began that it brought an answer to."""
        self._first_answers: dict[str, float] = {}
        """For each group, when a fetch of its members was answered first."""
        for event in shares:
            self._add(event)

    def _add(self, event: object) -> None:
        match event:
            case ShareGroupPlan():
                self.plans[event.group] = event
            case Take():
                self.takes.append(event)
                if event.outcome is Completion.OK:
                    self._answered(event)
                    self._first_answers.setdefault(event.group, event.ended)
                for taken in event.records:
                    key = RecordKey(event.group, taken.partition, taken.offset)
                    self.deliveries.setdefault(key, []).append(Delivery(event, taken))
            case Acknowledge():
                if any(_shows_session(ack) for ack in event.acks):
                    self._answered(event)
                for ack in event.acks:
                    key = RecordKey(event.group, ack.partition, ack.offset)
                    self.acks.setdefault(key, []).append(RecordedAck(event, ack))
            case LogStart():
                self.log_starts.append(event)
            case GroupEnd():
                self.ends.append(event)
            case Stored():
                self.stored.append(event)

    def _answered(self, event: Take | Acknowledge) -> None:
        before = self._last_answers.get(event.connection, 0.0)
        self._last_answers[event.connection] = max(before, event.started)

    # Records

    @cached_property
    def values(self) -> dict[tuple[Partition, int], str]:
        """What lies where, as far as a producer or a consumer was answered."""
        return {
            (partition, offset): next(iter(values))
            for partition, places in self.observed.places.items()
            for offset, values in places.items()
        }

    def sent(self, value: str) -> tuple[Operation, Sent] | None:
        sent = self.observed.sent.get(value)
        return None if sent is None else (self.observed.writers[value], sent)

    def promised(self) -> Iterator[tuple[Partition, int, Operation]]:
        """The records that each group must finish: acknowledged with acks=all, and not taken back."""
        for (partition, offset), value in self.values.items():
            if self.observed.is_promised(value):
                yield partition, offset, self.observed.writers[value]

    # What happened to a record

    def final_acks(self, key: RecordKey) -> Iterator[RecordedAck]:
        """Those that end it for the group, or may have done so."""
        for recorded in self.acks.get(key, ()):
            if recorded.ack.type in FINAL_TYPES and recorded.ack.outcome is not Completion.FAIL:
                yield recorded

    def came_too_late(self, key: RecordKey, sent_at: float) -> bool:
        """Whether the record was deleted, and was sent before the group's first fetch was answered.

        A group that the brokers do not know yet holds nothing back.
        """
        if key in self.deliveries or sent_at >= self._first_answers.get(key.group, float("inf")):
            return False
        return any(one.partition == key.partition and one.offset > key.offset for one in self.log_starts)

    def hidden_takes(self, group: str, since: float, until: float = float("inf")) -> int:
        """The number of fetches without an answer, each of which may have locked any record."""
        return sum(
            take.outcome is Completion.INFO
            and take.group == group
            and (not take.ended or take.ended >= since)
            and take.started <= until
            for take in self.takes
        )

    def may_be_exhausted(self, key: RecordKey, since: float, until: float = float("inf")) -> bool:
        """Whether a record may have been delivered as often as its group allows."""
        seen = [one.taken.count for one in self.deliveries.get(key, ()) if one.take.started <= until]
        limit = self.plans[key.group].delivery_limit
        missing = limit - max(seen, default=0)
        return missing <= 0 or missing <= self.hidden_takes(key.group, since, until)

    # Locks

    def holds(self, key: RecordKey) -> list[Hold]:
        """The times in which the lock of a record is certainly held, as its members can tell."""
        holds: list[Hold] = []
        for event, epoch, member in self._begun(key):
            end = min(
                event.started + self._lock_seconds(key),
                self._last_answers.get(event.connection, 0.0),
                self._next_act(key, member, event.ended),
            )
            if end > event.ended and epoch != UNKNOWN_EPOCH:
                holds.append(Hold(member, event.ended, end, (event.broker, epoch)))
        return holds

    def has_lock(self, key: RecordKey, recorded: RecordedAck) -> bool:
        """Whether the member certainly had the lock of the record until its acknowledgement was answered. An
        acknowledgement of a record that the group has passed meanwhile succeeds, too, without any effect."""
        return self._is_within(key, recorded, self._begun(key))

    def _is_within(self, key: RecordKey, recorded: RecordedAck, begun: list[Begun]) -> bool:
        request, life = recorded.request, (recorded.request.broker, recorded.ack.epoch)
        if recorded.ack.epoch == UNKNOWN_EPOCH or recorded.ack.count == NOT_HELD:
            return False
        return any(
            (member, event.connection) == (request.member, request.connection)
            and (event.broker, epoch) == life
            and event.ended <= request.started
            and request.ended <= event.started + self._lock_seconds(key)
            for event, epoch, member in begun
        )

    def _lock_seconds(self, key: RecordKey) -> float:
        return self.plans[key.group].lock_ms / 1000 * SLOWEST_CLOCK

    def _begun(self, key: RecordKey) -> list[Begun]:
        """Deliveries, and renewals that certainly came in time, each with its epoch and member."""
        begun: list[Begun] = [
            (one.take, one.taken.epoch, one.take.member) for one in self.deliveries.get(key, ())
        ]
        renewals = [one for one in self.acks.get(key, ()) if one.is_ok and one.ack.type == AckType.RENEW]
        for one in sorted(renewals, key=lambda one: one.request.started):
            if self._is_within(key, one, begun):
                begun.append((one.request, one.ack.epoch, one.request.member))
        return begun

    def _next_act(self, key: RecordKey, member: str, after: float) -> float:
        return min(
            (
                one.request.started
                for one in self.acks.get(key, ())
                if one.request.member == member and one.request.started >= after
            ),
            default=float("inf"),
        )
