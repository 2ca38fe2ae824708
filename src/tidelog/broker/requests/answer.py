"""What a handler returns: a response, or an awaitable of one.

A handler that can answer at once is a plain function and returns the response, which keeps the busiest
requests free of a task each. A handler that waits returns a future, or is a coroutine function.
"""

from collections.abc import Awaitable
from enum import Enum
from inspect import isawaitable
from typing import Final, TypeAlias, TypeVar

from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.wire.message import Message


class NoResponse(Enum):
    """The protocol has no response to this request: Produce with acks=0, and Raft."""

    NO_RESPONSE = "no response"


NO_RESPONSE: Final = NoResponse.NO_RESPONSE

Response: TypeAlias = Message | NoResponse
HandlerAnswer: TypeAlias = Response | Awaitable[Response]

ResponseT = TypeVar("ResponseT")


class CloseConnection(Exception):
    """Raised by a handler that cannot send an error in a response: closing the connection is the signal.

    Responses to earlier requests of the connection are still sent.
    """

    def __init__(self, connection: ClientConnection, reason: str) -> None:
        super().__init__(f"closing {connection}: {reason}")


async def response_of(answer: ResponseT | Awaitable[ResponseT]) -> ResponseT:
    """Returns the response once it is there, for callers that may wait."""
    return await answer if isawaitable(answer) else answer
