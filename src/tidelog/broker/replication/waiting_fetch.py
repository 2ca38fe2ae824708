"""A follower's fetch that waits at the leader: for records, for new offsets, or until its time is over."""

import asyncio
from collections.abc import Callable

from tidelog.broker.replication.replica_sessions import ReplicaSession
from tidelog.broker.requests.answer import LateAnswer
from tidelog.broker.requests.fetch_sessions import NO_SESSION
from tidelog.wire.messages.fetch import FetchRequest, FetchResponse

TELL_SECONDS = 0.02
"""How long a waiting follower may go without hearing of a new high watermark."""


class WaitingFetch:
    __slots__ = ("_due", "_finish", "_loop", "_missing", "_owes_offsets", "_request", "_session", "answer")

    def __init__(
        self,
        session: ReplicaSession,
        request: FetchRequest,
        missing: int,
        seconds: float,
        finish: Callable[[ReplicaSession, FetchRequest], FetchResponse],
    ) -> None:
        """`missing`: the bytes that are still to come."""
        self._loop = loop = asyncio.get_running_loop()
        self.answer = LateAnswer[FetchResponse](session.end if session.id == NO_SESSION else None)
        self._session = session
        self._request = request
        self._missing = missing
        self._finish = finish
        self._owes_offsets = False
        self._due = loop.time() + seconds
        session.ring_by(self._due, loop)

    def on_bytes(self, count: int) -> None:
        self._missing -= count
        if self._missing <= 0 or not count:
            # At the end of the loop's turn: all that is appended in this turn travels together.
            self._missing = 2**63
            self._loop.call_soon(self._complete)

    def on_offsets(self) -> None:
        # A follower that wants many bytes at a time wants few answers.
        if not self._owes_offsets and self._request.min_bytes <= 1:
            self._owes_offsets = True
            self._due = min(self._due, self._loop.time() + TELL_SECONDS)
            self._session.ring_by(self._due, self._loop)

    def on_alarm(self, now: float) -> float | None:
        if self._due > now:
            return self._due
        self._complete()
        return None

    def let_go(self) -> None:
        if self._is_current():
            # Not at once: the other request is in the middle of its own answer.
            nothing = FetchResponse(session_id=self._session.id)
            self._loop.call_soon(self.answer.set_result, nothing)

    def _complete(self) -> None:
        if not self._is_current():  # it was let go
            return
        try:
            response = self._finish(self._session, self._request)
        except Exception as error:
            self.answer.set_exception(error)
        else:
            self.answer.set_result(response)

    def _is_current(self) -> bool:
        """Ends the wait, once. False: it was over already, or the follower has left."""
        if self._session.waiting is not self:
            return False
        self._session.waiting = None
        return not self.answer.done()
