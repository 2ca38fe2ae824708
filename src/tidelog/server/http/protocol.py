"""HTTP/1.1 by uvicorn, without its server: it parses, and calls the app of a connection.

Imported and made on a thread, since uvicorn takes a while to load. uvicorn's own log lines are left out: any
client could cause them without a bound, and `connection` and this file say what matters.
"""

import asyncio
import logging
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tidelog.server.http.asgi import App, Event, Receive, Scope, Send, say
from tidelog.server.http.limits import HttpLimits

if TYPE_CHECKING:
    from tidelog.server.http.connection import HttpConnection

_CONNECTION = "tidelog.connection"
_TWO_LENGTHS = "A request has a Content-Length or a Transfer-Encoding, not both."


class NotSentError(Exception):
    """uvicorn refuses to send: the answer has no place in what the client has made of its connection."""


class HttpProtocols:
    def __init__(self, app: App, limits: HttpLimits, log: logging.Logger) -> None:
        from uvicorn.config import Config
        from uvicorn.protocols.http.h11_impl import H11Protocol
        from uvicorn.server import ServerState

        self._app = app
        self._log = log
        self._make = H11Protocol
        self._state = ServerState()
        self._config = Config(
            self._serve,
            http=H11Protocol,
            ws="none",
            lifespan="off",
            interface="asgi3",
            loop="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            timeout_keep_alive=limits.idle_seconds,
            h11_max_incomplete_event_size=limits.head_bytes_max,
        )
        self._config.load()
        self._silence = logging.Logger("uvicorn", logging.CRITICAL)

    def speak(self, connection: "HttpConnection") -> asyncio.Protocol:
        protocol: asyncio.Protocol = self._make(self._config, self._state, {_CONNECTION: connection})
        protocol.logger = self._silence  # type: ignore[attr-defined]
        protocol.access_log = False  # type: ignore[attr-defined]
        return protocol

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection: HttpConnection = scope["state"].pop(_CONNECTION)
        has_begun = False
        _take_whole_url(scope)

        async def watched(event: Event) -> None:
            nonlocal has_begun
            has_begun = True
            try:
                await send(event)
            except Exception as error:
                raise NotSentError from error

        task = asyncio.current_task()
        connection.request_begins(None if task is None else task.cancel)
        try:
            if _has_two_lengths(scope):
                await say(watched, 400, _TWO_LENGTHS, [(b"connection", b"close")])
            else:
                await self._app(scope, receive, watched)
        except NotSentError:
            connection.abort()  # the client broke the protocol after the head of its request
        except Exception:
            self._log.exception("%s %s failed inside the broker", scope["method"], scope["path"])
            if has_begun:
                raise  # uvicorn closes the connection: the client sees that the answer is not whole
            await say(send, 500, "The broker could not answer; its log says why.")
        finally:
            connection.request_ends()


def _take_whole_url(scope: Scope) -> None:
    """A client that believes to talk to a proxy asks for a whole URL, which every server has to take."""
    _, is_whole, rest = scope["raw_path"].partition(b"://")
    if is_whole and not scope["raw_path"].startswith(b"/"):
        scope["raw_path"] = b"/" + rest.partition(b"/")[2]
        scope["path"] = unquote(scope["raw_path"].decode("ascii"))


def _has_two_lengths(scope: Scope) -> bool:
    """A proxy in front may believe the other one, and take what follows the body for its own next request."""
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names and b"transfer-encoding" in names
