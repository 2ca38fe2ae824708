"""What clients of the schema registry did and heard, and what it knew at the end: the input of its checks."""

from collections.abc import Iterator

import msgspec

OK = "ok"
REFUSED = "refused"
UNSURE = "unsure"
"""No answer came, or one that says that the request may still happen."""

UNREACHED = "unreached"
"""No broker took the request."""

SHARED = "shared-"
"""Begins the subjects that all clients register under, and none deletes from. Any other has one client."""


class RegistryRequest(msgspec.Struct, frozen=True):
    """A request that changes something, or a read of an id."""

    client: str
    kind: str
    """register, delete_version, delete_subject, config, read."""
    subject: str
    started: float
    ended: float
    outcome: str
    text: str = ""
    """Of the schema that was registered, or read."""
    id: int = 0
    version: int = 0
    permanent: bool = False
    level: str = ""
    code: int = 0
    """Why it was refused."""


class LastVersion(msgspec.Struct, frozen=True):
    """A version at the end of a run."""

    subject: str
    version: int
    id: int
    text: str
    deleted: bool


class RegistryHistory:
    def __init__(self) -> None:
        self.requests: list[RegistryRequest] = []
        self.last: list[LastVersion] = []
        self.last_levels: dict[str, str] = {}
        """Of subjects with a configuration of their own."""
        self.is_complete = False
        """Whether the end of the run was read."""

    def begin(self, request: RegistryRequest) -> int:
        """Note a request that is sent now; its client may die before it hears of it."""
        self.requests.append(request)
        return len(self.requests) - 1

    def end(self, number: int, request: RegistryRequest) -> None:
        self.requests[number] = request

    def of(self, subject: str) -> list[RegistryRequest]:
        return [one for one in self.requests if one.subject == subject]

    def subjects(self) -> Iterator[str]:
        yield from dict.fromkeys(one.subject for one in self.requests if one.subject)

    def registered(self) -> Iterator[RegistryRequest]:
        """The registrations that were answered with an id."""
        return (one for one in self.requests if one.kind == "register" and one.outcome == OK)
