"""Where quotas take hold: each request is charged, and its response says how long the client must pause.

The connection enforces the pause (KIP-219), so a client that ignores the number gains nothing.
"""

from typing import Protocol

from tidelog.broker.requests.client_connection import ClientConnection


class Throttle(Protocol):
    def charge(
        self, connection: ClientConnection, client_id: str | None, api_key: int, request_bytes: int
    ) -> int:
        """Returns the milliseconds that this client must pause after the response; 0 for none."""
        ...


class Unlimited:
    """No quotas are set."""

    def charge(
        self, connection: ClientConnection, client_id: str | None, api_key: int, request_bytes: int
    ) -> int:
        return 0
