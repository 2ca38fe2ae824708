"""One request that a test sends as a principal which lacks permissions."""

from typing import NamedTuple

from tests.rigs.authorized_cluster import CLIENTS
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message

TOPIC, NEW_TOPIC, GROUP, TRANSACTIONAL_ID = "orders", "invented", "readers", "payments"


class Sample(NamedTuple):
    key: ApiKey
    request: Message
    version: int | None = None
    """None: the newest."""
    listener: str = CLIENTS
    hides: bool = False
    """What the principal may not see is left out of the answer, without an error."""
    what: str = ""
    before: tuple["Sample", ...] = ()
    """What an administrator sends first, so that there is something to ask about."""

    def __str__(self) -> str:
        return f"{self.key.name} {self.what}".strip()
