"""What is forbidden to which client, as far as an administrator was promised, and where it has arrived.

A client is known by its host. A revocation is an ACL that denies it one operation on the guarded topic. A new
term begins with every change of it, so that a look from before says nothing about now.
"""

from collections.abc import Callable
from typing import NamedTuple

from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

GUARDED = "guarded"


class Revocation(NamedTuple):
    host: str
    operation: Operation

    @property
    def acl(self) -> Acl:
        return Acl(
            ResourceType.TOPIC,
            PatternType.LITERAL,
            GUARDED,
            "User:ANONYMOUS",
            self.host,
            self.operation,
            Permission.DENY,
        )


EVERYBODY = Acl(
    ResourceType.TOPIC,
    PatternType.LITERAL,
    GUARDED,
    "User:*",
    "*",
    Operation.ALL,
    Permission.ALLOW,
)


class Sight(NamedTuple):
    """A broker had applied a revocation at some moment."""

    broker: str
    """Which process, such as `n2.3`."""
    revocation: Revocation
    term: int


AppliedBy = Callable[[Acl, str], str | None]
"""The process at a host that has applied an ACL; None where it has not, or where none runs."""


class PermissionLedger:
    def __init__(self, applied_by: AppliedBy) -> None:
        self._applied_by = applied_by
        self._terms: dict[Revocation, int] = {}
        self._unclear: set[Revocation] = set()
        self.complaints: list[str] = []

    def look(self, revocation: Revocation, broker_host: str) -> Sight | None:
        process = self._applied_by(revocation.acl, broker_host)
        if process is None or revocation in self._unclear:
            return None
        return Sight(process, revocation, self._terms.get(revocation, 0))

    def begin_term(self, revocation: Revocation) -> None:
        """The administrator is about to revoke or to lift it: brokers apply that at different moments."""
        self._terms[revocation] = self._terms.get(revocation, 0) + 1

    def give_up(self, revocation: Revocation) -> None:
        """A request to lift it got no answer. It may arrive at any time: from now on nothing is certain."""
        self._unclear.add(revocation)

    def used(self, before: Sight | None, broker_host: str, what: str) -> None:
        """A broker has carried something out. It must not have been one that knew better all the time."""
        if before is not None and self.look(before.revocation, broker_host) == before:
            host, operation = before.revocation
            self.complaints.append(
                f"{before.broker} let {host} {what}, and knew that its {operation.name} was revoked"
            )
