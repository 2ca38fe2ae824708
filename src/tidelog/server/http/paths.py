"""One app made of several, each at a path of its own, for answers that change nothing."""

from collections.abc import Mapping

from tidelog.server.http.asgi import App, Receive, Scope, Send, say

METHODS = ("GET", "HEAD")


class Paths:
    def __init__(self, apps: Mapping[str, App]) -> None:
        self._apps = apps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._apps.get(scope["path"])
        if app is None:
            await say(send, 404, f"There is nothing at this path. Served here: {', '.join(self._apps)}.")
        elif scope["method"] not in METHODS:
            allow = [(b"allow", ", ".join(METHODS).encode())]
            await say(send, 405, f"This path answers {' and '.join(METHODS)} alone.", allow)
        else:
            await app(scope, receive, send)
