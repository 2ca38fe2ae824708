"""A token that clients of an app must send (`Authorization: Bearer ...`), kept in a file.

The file is looked at with each request, so that a new token counts without a restart. A file that cannot be
read meanwhile changes nothing.
"""

import hmac
import logging
import os

from tidelog.base.errors import TidelogError
from tidelog.server.http.asgi import App, Receive, Scope, Send, header, say

log = logging.getLogger("tidelog.http")


class BearerToken:
    def __init__(self, path: str) -> None:
        """Raises TidelogError where the file holds no token: a port that must be closed does not open."""
        self._path = path
        self._seen = self._look()
        self._token = self._read()

    def protect(self, app: App) -> App:
        async def protected(scope: Scope, receive: Receive, send: Send) -> None:
            scheme, _, token = header(scope, b"authorization").partition(" ")
            if scheme.lower() == "bearer" and self._is_right(token.strip()):
                await app(scope, receive, send)
            else:
                challenge = [(b"www-authenticate", b"Bearer")]
                await say(send, 401, "This path wants the token of metrics.token.file.", challenge)

        return protected

    def _is_right(self, token: str) -> bool:
        self._refresh()
        return hmac.compare_digest(token.encode("latin-1"), self._token)

    def _refresh(self) -> None:
        seen = self._look()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._token = self._read()
        except TidelogError as error:
            log.error("%s The previous token stays.", error)

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size

    def _read(self) -> bytes:
        try:
            with open(self._path, "rb") as file:
                token = file.read().strip()
        except OSError as error:
            raise TidelogError(
                f"metrics.token.file={self._path} cannot be read: {error.strerror}. Let the broker's user "
                "read it, or change the setting."
            ) from error
        if not token:
            raise TidelogError(f"metrics.token.file={self._path} is empty. Write a token into it.")
        return token
