"""`/healthz` and `/readyz`: a verdict on this broker as JSON, for probes and load balancers."""

import json
from collections.abc import Callable
from typing import Any, Protocol

from tidelog.server.http.asgi import JSON, App, Receive, Scope, Send, answer


class ShownVerdict(Protocol):
    @property
    def ok(self) -> bool: ...

    def as_json(self) -> dict[str, Any]: ...


def health_app(verdict: Callable[[], ShownVerdict]) -> App:
    """200 where the verdict is good, otherwise 503 with the reason."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        found = verdict()
        body = json.dumps(found.as_json()).encode() + b"\n"
        await answer(send, 200 if found.ok else 503, body, JSON)

    return app
