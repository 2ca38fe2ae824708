"""The timers of members of groups with epochs: the one part of a group that is lost with the coordinator.

A timer is found by group and member, not held by the group: it may be started for a member whose record is
not written yet, and a timer that rings for a member that has left does no harm.
"""

from collections.abc import Callable
from enum import Enum

from tidelog.base.timers import Timer
from tidelog.groups.step import Step

RETRY_MS = 500
"""When to try again to remove a member whose removal could not be written."""


class Wait(Enum):
    """What a member has to do in time, or be removed."""

    SESSION = "it sent no heartbeat within its session timeout"
    REVOCATION = "it did not let go of its partitions within its rebalance timeout"
    JOIN = "it did not rejoin within its rebalance timeout"
    SYNC = "it did not ask for its assignment within its rebalance timeout"


OnTimeout = Callable[[Step, str, str, Wait], None]


class MemberTimers:
    __slots__ = ("_on_timeout", "_timers")

    def __init__(self, on_timeout: OnTimeout) -> None:
        self._on_timeout = on_timeout
        self._timers: dict[tuple[str, str], dict[Wait, Timer[Step]]] = {}

    def start(self, step: Step, wait: Wait, group_id: str, member_id: str, delay_ms: int) -> None:
        timers = self._timers.get((group_id, member_id))
        if timers is None:
            timers = self._timers[group_id, member_id] = {}
        timer = timers.get(wait)
        if timer is None:
            timer = timers[wait] = step.context.timers.timer(
                lambda step: self._ring(step, wait, group_id, member_id)
            )
        timer.start(step.after_ms(delay_ms))

    def start_if_stopped(self, step: Step, wait: Wait, group_id: str, member_id: str, delay_ms: int) -> None:
        timer = self._timers.get((group_id, member_id), {}).get(wait)
        if timer is None or timer.deadline is None:
            self.start(step, wait, group_id, member_id, delay_ms)

    def stop(self, wait: Wait, group_id: str, member_id: str) -> None:
        timer = self._timers.get((group_id, member_id), {}).get(wait)
        if timer is not None:
            timer.cancel()

    def drop(self, group_id: str, member_id: str) -> None:
        for timer in self._timers.pop((group_id, member_id), {}).values():
            timer.cancel()

    def drop_all(self) -> None:
        for group_id, member_id in list(self._timers):
            self.drop(group_id, member_id)

    def __len__(self) -> int:
        return len(self._timers)

    def _ring(self, step: Step, wait: Wait, group_id: str, member_id: str) -> None:
        self._on_timeout(step, group_id, member_id, wait)
        step.if_failed(lambda step, _: self.start(step, wait, group_id, member_id, RETRY_MS))
