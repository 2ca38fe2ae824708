"""What a decision returns: the records to append and the result for each item of the request.

Decisions are pure. The shell appends the records durably, applies them, and only then responds.
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
"""A decision on so many items that it pauses at each `yield`, so that other tasks can run."""


def decide_at_once(steps: Steps[ResultT]) -> Decision[ResultT]:
    """Run all steps without a pause."""
    while True:
        try:
            next(steps)
        except StopIteration as decided:
            decision: Decision[ResultT] = decided.value
            return decision


class ItemResult(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that the result of every item has."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is ErrorCode.NONE

    @classmethod
    def refused(cls, error: KafkaError, **identity: Any) -> Self:
        """The result for a refused item; `identity` says which item it is."""
        return cls(error=error.code, message=error.message, **identity)
