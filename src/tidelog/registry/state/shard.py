"""The registry as a coordinator shard: all state of `_schemas`, which has one partition.

Each request method decides on the state as it is, and returns records with the answer that they stand for. An
answer may be a refusal: then there are no records, but it waits, too, for the records that it rests on.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from tidelog.base.ids import TimestampMs
from tidelog.coordination.decision import ShardDecision
from tidelog.registry.config import Config
from tidelog.registry.errors import RegistryError
from tidelog.registry.mode import Mode
from tidelog.registry.preparing import Job, Prepared
from tidelog.registry.state import configuring, deleting, refusals
from tidelog.registry.state.decided import Decided
from tidelog.registry.state.records import UnreadableError
from tidelog.registry.state.registering import Registration, register, registration_job
from tidelog.registry.state.state import RegistryState
from tidelog.registry.state.stored import StoredVersion

AnswerT = TypeVar("AnswerT")
Refusable: TypeAlias = ShardDecision[AnswerT | RegistryError]

NOTES_MAX = 10
"""Lines on unreadable records in one load; the rest is counted."""


class RegistryShard:
    def __init__(self) -> None:
        self.state = RegistryState()
        """To read from; see `lookups`."""
        self._notes: list[str] = []
        self._unreadable = 0

    # Requests

    def look(self, look: Callable[[RegistryState], AnswerT]) -> Refusable[AnswerT]:
        """Read the state. The answer waits for the records that it rests on."""
        return self._decide(lambda: Decided(look(self.state)))

    def job(self, request: Registration) -> Job | StoredVersion:
        """Returns what has to be prepared before `register`, or the version that is known already.

        Raises RegistryError where the registration would be refused whatever it is.
        """
        return registration_job(self.state, request)

    def register(
        self, request: Registration, job: Job | None = None, prepared: Prepared | None = None
    ) -> Refusable[StoredVersion | Job]:
        """Register a schema that was prepared by `job`. Another job as the answer: prepare again, by that
        one."""

        def decide() -> Decided[StoredVersion | Job]:
            current = registration_job(self.state, request)
            if prepared is None or current != job:
                return Decided(current)
            answer, records = register(self.state, request, prepared)
            return Decided(answer, records)

        return self._decide(decide)

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> Refusable[int]:
        return self._decide(
            lambda: deleting.delete_version(self.state, subject, version, permanent=permanent)
        )

    def delete_subject(self, subject: str, *, permanent: bool = False) -> Refusable[list[int]]:
        return self._decide(lambda: deleting.delete_subject(self.state, subject, permanent=permanent))

    def delete_context(self, context: str) -> Refusable[None]:
        return self._decide(lambda: deleting.delete_context(self.state, context))

    def change_config(self, scope: str | None, changes: Mapping[str, Any]) -> Refusable[Config]:
        return self._decide(lambda: configuring.change_config(self.state, scope, changes))

    def delete_config(self, scope: str | None) -> Refusable[Config | None]:
        return self._decide(lambda: configuring.delete_config(self.state, scope))

    def change_mode(self, scope: str | None, mode: Mode, *, force: bool = False) -> Refusable[Mode]:
        return self._decide(lambda: configuring.change_mode(self.state, scope, mode, force=force))

    def delete_mode(self, scope: str | None, *, recursive: bool = False) -> Refusable[Mode | None]:
        return self._decide(lambda: configuring.delete_mode(self.state, scope, recursive=recursive))

    def _decide(self, decide: Callable[[], Decided[AnswerT]]) -> Refusable[AnswerT]:
        try:
            answer, records = decide()
        except RegistryError as error:
            return ShardDecision.of(error, refusals.not_stored)
        except UnicodeEncodeError:
            return ShardDecision.of(refusals.no_unicode(), refusals.not_stored)
        return ShardDecision.of(answer, refusals.not_stored, records)

    # The log

    def replay(self, key: bytes, value: bytes | None) -> None:
        try:
            self.state.apply(key, value)
        except UnreadableError as error:
            self._unreadable += 1
            if self._unreadable <= NOTES_MAX:
                self._notes.append(f"registry: a record of _schemas is skipped, key {key[:200]!r}: {error}")

    def on_loaded(self, now: float, now_ms: TimestampMs) -> Iterable[ShardDecision[None]]:
        if self._unreadable > NOTES_MAX:
            self._notes.append(f"registry: {self._unreadable} records of _schemas are skipped in all")
        return ()

    def apply(self, decision: ShardDecision[Any], now: float, now_ms: TimestampMs) -> None:
        for key, value in decision.records:
            self.replay(key, value)

    @property
    def next_deadline(self) -> float | None:
        return None

    def tick(self, now: float, now_ms: TimestampMs) -> ShardDecision[None] | None:
        return None

    def take_notes(self) -> Iterable[str]:
        notes, self._notes = self._notes, []
        return notes

    def unload(self) -> None:
        """No client waits for a later decision."""
