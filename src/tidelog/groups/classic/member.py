"""One member of a classic group: what it says about itself, and which answer it waits for."""

from collections.abc import Callable, Collection

from tidelog.base.invariant import broken
from tidelog.base.pending import Pending
from tidelog.base.timers import Timer
from tidelog.groups.classic.messages import JoinAnswer, SyncAnswer
from tidelog.groups.record_formats.group_metadata import StoredMember
from tidelog.groups.step import Step

Protocols = tuple[tuple[str, bytes], ...]


class Member:
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "id",
        "instance_id",
        "is_new",
        "join",
        "protocols",
        "rebalance_timeout_ms",
        "session",
        "session_timeout_ms",
        "sync",
    )

    def __init__(
        self,
        member_id: str,
        *,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocols: Protocols,
        session: Callable[["Member"], Timer[Step]],
        assignment: bytes = b"",
    ) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocols = protocols
        self.assignment = assignment
        self.session = session(self)
        """Runs out when nothing was heard from the member for too long."""
        self.is_new = False
        """Waits in its first join, under an id that it may not even know."""
        self.join: Pending[JoinAnswer] | None = None
        self.sync: Pending[SyncAnswer] | None = None

    @property
    def is_waiting(self) -> bool:
        """Silent because it waits for us, so silence proves nothing. A new member may have gone long ago."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def restart_session(self, step: Step) -> None:
        self.session.start(step.after_ms(self.session_timeout_ms))

    def metadata(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    def vote(self, candidates: Collection[str]) -> str:
        """The member's favourite among the protocols that all members know."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        broken("a member knows none of the common protocols", member=self.id, candidates=candidates)

    def stored(self, protocol: str | None, assignment: bytes) -> StoredMember:
        return StoredMember(
            self.id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )
