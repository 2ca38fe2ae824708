"""The identity provider's keys for OAUTHBEARER, read from a file or a URL and read again as they age.

Used on threads, since reading takes as long as the network does. While keys cannot be read, the earlier ones
stay in force. A token with an unknown key id makes the broker read the keys again, since the provider may
have begun to use a new one; at most once in a while, since anybody can send such tokens.
"""

import logging
import threading
import time
from collections.abc import Callable
from http.client import HTTPException, HTTPMessage
from typing import IO, NamedTuple
from urllib.error import URLError
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from tidelog.base.ids import TimestampMs
from tidelog.security.jwt import KeySet, Token, TokenRefused, TokenRules

FETCH_SECONDS = 5.0
DOCUMENT_BYTES_MAX = 1024 * 1024
UNKNOWN_KEY_SECONDS = 10.0

log = logging.getLogger("tidelog.broker.security")


class KeyTimes(NamedTuple):
    """In seconds."""

    refresh: float
    retry: float
    retry_max: float


class TokenKeys:
    def __init__(
        self,
        url: str,
        rules: TokenRules,
        times: KeyTimes,
        *,
        monotonic: Callable[[], float],
        now_ms: Callable[[], TimestampMs],
        read: "Callable[[str], bytes] | None" = None,
    ) -> None:
        self._url = url
        self._rules = rules
        self._times = times
        self._monotonic = monotonic
        self._now_ms = now_ms
        self._read = read or read_document
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._tried_at = self._read_at = -float("inf")
        self._failures = 0

    def verify(self, token: str) -> Token:
        """Raises TokenRefused."""
        try:
            keys = self._current()
            if not keys.lists(token) and self._monotonic() - self._tried_at >= UNKNOWN_KEY_SECONDS:
                keys = self._refreshed(keys)
            return keys.verify(token, self._rules, self._now_ms())
        except RecursionError:
            raise TokenRefused("the token nests its content too deeply") from None

    def _current(self) -> KeySet:
        keys = self._keys
        if keys is None:
            with self._lock:  # the first clients wait for the keys, all together
                if self._keys is None and self._may_try():
                    self._fetch()
                keys = self._keys
            if keys is None:
                raise TokenRefused("the keys of the identity provider cannot be read")
            return keys
        is_old = self._monotonic() - self._read_at >= self._times.refresh
        return self._refreshed(keys) if is_old and self._may_try() else keys

    def _may_try(self) -> bool:
        if not self._failures:
            return True
        pause: float = min(self._times.retry * 2 ** min(self._failures - 1, 30), self._times.retry_max)
        return self._monotonic() - self._tried_at >= pause

    def _refreshed(self, keys: KeySet) -> KeySet:
        """While one thread reads, the others go on with the keys as they are."""
        if self._lock.acquire(blocking=False):
            try:
                self._fetch()
            finally:
                self._lock.release()
        return self._keys or keys

    def _fetch(self) -> None:
        self._tried_at = self._monotonic()
        try:
            self._keys = KeySet(self._read(self._url))
        except (OSError, ValueError, HTTPException, TokenRefused, RecursionError) as error:
            self._failures += 1
            log.error("the keys for OAUTHBEARER cannot be read from %s: %s", self._url, error)
            return
        self._failures = 0
        self._read_at = self._tried_at


class StaysEncrypted(HTTPRedirectHandler):
    """Keys that arrive in plain text may be anybody's, and with them every token would be accepted."""

    def redirect_request(  # noqa: PLR0917 - urllib calls it so
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise URLError("it redirects from https to an address that is not encrypted")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def read_document(url: str) -> bytes:
    """Raises OSError or HTTPException, or ValueError for a document that is too large."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        with open(unquote(parts.path), "rb") as file:
            document = file.read(DOCUMENT_BYTES_MAX + 1)
    else:
        try:
            with build_opener(StaysEncrypted).open(url, timeout=FETCH_SECONDS) as answer:
                document = _read_in_time(answer.read1)
        except URLError as error:
            raise OSError(str(error.reason)) from error
    if len(document) > DOCUMENT_BYTES_MAX:
        raise ValueError(f"the document is larger than {DOCUMENT_BYTES_MAX} bytes")
    return document


def _read_in_time(read: Callable[[int], bytes]) -> bytes:
    """The time-out of a socket counts from the last byte, and a server may send them one by one."""
    end = time.monotonic() + FETCH_SECONDS
    document = b""
    while len(document) <= DOCUMENT_BYTES_MAX and (piece := read(DOCUMENT_BYTES_MAX + 1 - len(document))):
        document += piece
        if time.monotonic() > end:
            raise TimeoutError(f"the document did not arrive within {FETCH_SECONDS:.0f} s")
    return document
