"""What the pods on this machine share: the API server, a network of loopback addresses, and a record of
events."""

import random
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.kube.control_plane.api import Api

NAME = re.compile(r"[a-z0-9-]+-([0-9]+)\.[a-z0-9-]+\.[a-z0-9-]+\.svc\.cluster\.local")


@dataclass(frozen=True, slots=True)
class Event:
    at: float
    pod: str
    what: str
    detail: str = ""


@dataclass
class Machine:
    api: Api
    authority: Path
    """The certificate that containers trust when they talk to the API server."""
    namespace: str
    directory: Path
    network: int = field(default_factory=lambda: random.SystemRandom().randrange(2, 250))
    events: list[Event] = field(default_factory=list)

    def address_of(self, ordinal: int) -> str:
        return f"127.{self.network}.0.{10 + ordinal}"

    def with_addresses(self, text: str) -> str:
        """In place of DNS: the names of pods become their addresses."""
        return NAME.sub(lambda found: self.address_of(int(found[1])), text)

    def path(self, kind: str, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/{kind}/{name}"

    def note(self, pod: str, what: str, detail: str = "") -> None:
        self.events.append(Event(time.monotonic(), pod, what, detail))

    def details(self, what: str, since: int = 0) -> list[str]:
        return [event.detail for event in self.events[since:] if event.what == what]
