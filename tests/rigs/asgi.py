"""Asks an ASGI app without a server: a request in, the whole answer out."""

import gzip
import itertools
from typing import Any, NamedTuple

from tidelog.server.http.asgi import App

_hosts = (f"192.0.2.{number % 256}" for number in itertools.count())


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        is_packed = self.headers.get("content-encoding") == "gzip"
        return (gzip.decompress(self.body) if is_packed else self.body).decode()


async def ask(app: App, path: str = "/", method: str = "GET", **headers: str) -> Answer:
    """Headers as keywords: `accept_encoding="gzip"`."""
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "client": (next(_hosts), 50_000),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    events: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event: Any) -> None:
        events.append(event)

    await app(scope, receive, send)
    assert [event.get("more_body", False) for event in events[1:]] == [*[True] * (len(events) - 2), False]
    body = b"".join(event["body"] for event in events[1:])
    found = {name.decode(): value.decode() for name, value in events[0]["headers"]}
    assert int(found["content-length"]) == len(body)
    return Answer(events[0]["status"], found, body)
