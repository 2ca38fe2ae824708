"""An answer that is there already or will be, without an event loop: what pure code hands to a shell."""

from collections.abc import Callable
from typing import Generic, TypeVar

from tidelog.base.invariant import invariant

AnswerT = TypeVar("AnswerT")


class Pending(Generic[AnswerT]):
    """`on_done` calls back at once, or when the answer comes."""

    __slots__ = ("_answer", "_callback", "_done")

    def __init__(self) -> None:
        self._answer: AnswerT | None = None
        self._callback: Callable[[AnswerT], None] | None = None
        self._done = False

    @classmethod
    def ready(cls, answer: AnswerT) -> "Pending[AnswerT]":
        pending = cls()
        pending.resolve(answer)
        return pending

    @property
    def done(self) -> bool:
        return self._done

    @property
    def answer(self) -> AnswerT:
        invariant(self._done, "an answer was read before it was there")
        return self._answer  # type: ignore[return-value]

    def on_done(self, callback: Callable[[AnswerT], None]) -> None:
        """One callback, which must not call back into the shard."""
        if self._done:
            callback(self.answer)
        else:
            self._callback = callback

    def resolve(self, answer: AnswerT) -> None:
        invariant(not self._done, "a request would be answered twice")
        self._answer, self._done = answer, True
        if self._callback is not None:
            self._callback(answer)
