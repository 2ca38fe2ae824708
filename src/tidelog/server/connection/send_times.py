"""How long responses wait for their clients, measured where a socket takes no more for now.

Most responses leave with one call, and cost nothing here.
"""

from typing import Any, Protocol


class SendTimes(Protocol):
    def send_begins(self) -> Any:
        """The kernel does not take the whole newest response. Returns what `send_ends` wants back."""
        ...

    def send_ends(self, begun: Any, /) -> None: ...


class SendWait:
    """Of one connection."""

    __slots__ = ("_begun", "_times")

    def __init__(self, times: SendTimes) -> None:
        self._times = times
        self._begun: Any = None

    def begins(self) -> None:
        """Also called while a wait is under way: it is one wait until everything is sent."""
        if self._begun is None:
            self._begun = self._times.send_begins()

    def ends(self) -> None:
        if self._begun is not None:
            self._times.send_ends(self._begun)
            self._begun = None
