"""What a node asks of the network and of threads: real ones, or their twins in a simulator."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tidelog.base.config.config import BrokerConfig
from tidelog.base.listener import Listener
from tidelog.base.ports import Connection
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.server.connection.shared_state import RequestDispatcher


class Serving(Protocol):
    """A server that listens: real sockets, or their twins in a simulator."""

    @property
    def addresses(self) -> list[Listener]: ...

    def open(self) -> None:
        """Accept on every listener."""
        ...

    def change_limits(self, limits: ConnectionLimits) -> None: ...

    def relieve(self, is_short: bool) -> None:
        """Memory has become short, or is enough again."""
        ...

    def stop_accepting(self) -> None: ...

    async def drain(self, seconds: float) -> int: ...

    def close(self) -> None:
        """Abort all connections now."""
        ...


class NodeNetwork(Protocol):
    def secure(self, config: BrokerConfig) -> None:
        """Load what the listeners and the connections to other brokers need. Raises TidelogError."""
        ...

    def follow(self, config: BrokerConfig) -> None:
        """Apply settings that have changed."""
        ...

    def connect(self, host: str, port: int) -> Connection: ...

    def listen(
        self,
        dispatcher: RequestDispatcher,
        listeners: Sequence[Listener],
        limits: ConnectionLimits,
        *,
        first: str | None = None,
    ) -> Serving:
        """Accept on the listener that is named `first`; where there are others, once they are opened."""
        ...

    async def close(self) -> None: ...


class Threads(Protocol):
    def run(self, job: Callable[[], Any]) -> "asyncio.Future[Any]": ...

    async def close(self) -> None: ...
