"""One request that a test sends as a principal which lacks permissions."""

from collections.abc import Callable
from typing import NamedTuple

from tests.rigs.authorized_cluster import CLIENTS
from tidelog.base.ids import Uuid
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
    about: Callable[[Uuid], Message] | None = None
    """Makes the request, where it names the topic by its id."""

    def for_topic(self, topic_id: Uuid) -> "Sample":
        """The sample for the topic with this id."""
        before = tuple(earlier.for_topic(topic_id) for earlier in self.before)
        request = self.request if self.about is None else self.about(topic_id)
        return self._replace(request=request, before=before)

    def __str__(self) -> str:
        return f"{self.key.name} {self.what}".strip()
