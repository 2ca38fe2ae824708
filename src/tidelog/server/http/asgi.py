"""Plain ASGI: the types of an app, and the short answers that every app gives."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

PLAIN_TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def header(scope: Scope, name: bytes) -> str:
    """Returns a header of the request, its repetitions joined as HTTP has it; "" where it is missing."""
    return ", ".join(value.decode("latin-1") for key, value in scope["headers"] if key == name)


async def answer(send: Send, status: int, body: bytes, content_type: str, more: Headers = ()) -> None:
    await begin(send, status, len(body), content_type, more)
    await send({"type": "http.response.body", "body": body})


async def begin(send: Send, status: int, length: int, content_type: str, more: Headers = ()) -> None:
    """The head of an answer whose body of `length` bytes follows in pieces."""
    headers = [
        (b"content-type", content_type.encode()),
        (b"content-length", str(length).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def say(send: Send, status: int, sentence: str, more: Headers = ()) -> None:
    """An answer in one sentence, for the person at the other end."""
    await answer(send, status, f"{sentence}\n".encode(), PLAIN_TEXT, more)
