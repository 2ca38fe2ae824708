"""The log of slow requests (`log.slow.requests.ms`): a line each, with the client and the parts of the time.

Requests that wait by their nature, as a fetch does for more data and a member for its group, are judged by
the time that this broker spends on them. The broker's log bounds how many lines one place in the code writes.
"""

import logging
from typing import NamedTuple

from tidelog.broker.requests.client_connection import ClientConnection

WAIT_BY_NATURE = frozenset(
    {
        "Fetch",
        "ShareFetch",
        "JoinGroup",
        "SyncGroup",
        "ConsumerGroupHeartbeat",
        "StreamsGroupHeartbeat",
        "ShareGroupHeartbeat",
    }
)

log = logging.getLogger("tidelog.broker.slow_requests")


class SlowRequest(NamedTuple):
    """A request that took longer than the limit, and where its time went, in seconds."""

    api: str
    connection: ClientConnection
    request_bytes: int
    local: float
    remote: float
    throttle: float
    """The pause after the answer, which is no part of the total."""
    trace: str = ""
    """The W3C trace context of its first record, where it is a produce request with one and traces are on."""

    @property
    def total(self) -> float:
        return self.local + self.remote


def is_slow(request: SlowRequest, limit_seconds: float) -> bool:
    judged = request.local if request.api in WAIT_BY_NATURE else request.total
    return judged >= limit_seconds


def log_slow_request(request: SlowRequest) -> None:
    connection = request.connection
    log.warning(
        "slow request: %s of %d bytes took %.0f ms (%.0f ms in this broker, %.0f ms waiting; then a pause "
        "of %.0f ms by quota), client id %r, %s, %s on %s",
        request.api,
        request.request_bytes,
        1000 * request.total,
        1000 * request.local,
        1000 * request.remote,
        1000 * request.throttle,
        connection.client_id or "",
        connection.principal,
        connection,
        connection.listener,
    )
