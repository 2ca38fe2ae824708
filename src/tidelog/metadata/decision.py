"""What a decision hands back: the records to append and the answer for each item of the request.

Decisions are pure. The shell appends the records durably, applies them, and only then gives the answers.
"""

from collections.abc import Generator, Sequence
from typing import Any, Generic, Self, TypeAlias, TypeVar

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.image.records import Record

ResultT = TypeVar("ResultT")


class Decision(msgspec.Struct, Generic[ResultT], frozen=True):
    records: Sequence[Record]
    """To be appended as one batch, so that all of them hold or none. Empty: there is nothing to write."""
    results: Sequence[ResultT]
    """One for each item of the request, in its order."""


Steps: TypeAlias = Generator[None, None, Decision[ResultT]]
"""A decision on so many items that it rests at each `yield`, so that others have their turn meanwhile."""


def decide_at_once(steps: Steps[ResultT]) -> Decision[ResultT]:
    """Without a rest."""
    while True:
        try:
            next(steps)
        except StopIteration as decided:
            decision: Decision[ResultT] = decided.value
            return decision


class ItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """The part that every answer has."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is ErrorCode.NONE

    @classmethod
    def refused(cls, error: KafkaError, **identity: Any) -> Self:
        """The answer for an item that was refused; `identity` says which item it was."""
        return cls(error=error.code, message=error.message, **identity)
