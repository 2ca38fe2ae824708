"""HTTP calls to a registry that has several URLs: the next URL is asked where one gives no answer.

A connection stays open between calls. A call that changes something by its mere repetition (DELETE) is not
sent again once a registry may have carried it out.
"""

import base64
import http.client
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from tidelog import __version__
from tidelog.blocking.registry.errors import NotARegistry, RegistryRefused, RegistryUnavailable
from tidelog.blocking.registry.options import RegistryOptions

ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"
CONTENT = "application/vnd.schemaregistry.v1+json"
ANSWER_BYTES_MAX = 64 << 20
PASSING = (408, 429, 500, 502, 503, 504)
"""Statuses that another try, or another registry, may not give."""
PAUSE_S, PAUSE_MAX_S = 0.1, 2.0
SHOWN_CHARACTERS = 200
NOTHING_THERE = "nothing listens there"

Connect = Callable[[str, RegistryOptions], http.client.HTTPConnection]


class _Failure(NamedTuple):
    url: str
    reason: str
    may_repeat: bool
    refusal: RegistryRefused | None = None
    lasts: bool = False
    """Whether time does not help, though another URL may: a bug of the registry, or no trust in it."""


class RegistryCalls:
    def __init__(
        self,
        options: RegistryOptions,
        *,
        connect: Connect | None = None,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.options = options
        self._connect = connect or connection_to
        self._now, self._sleep = now, sleep
        self._lock = threading.Lock()
        self._open: dict[str, http.client.HTTPConnection] = {}
        self._urls = list(options.urls)
        self._headers = {
            "Accept": ACCEPT,
            "User-Agent": f"tidelog/{__version__}",
            **_authorization(options),
        }

    def get(self, *path: str | int, **query: object) -> Any:
        return self._call("GET", path, query, None)

    def post(self, *path: str | int, body: object, **query: object) -> Any:
        return self._call("POST", path, query, body)

    def put(self, *path: str | int, body: object, **query: object) -> Any:
        return self._call("PUT", path, query, body)

    def delete(self, *path: str | int, **query: object) -> Any:
        return self._call("DELETE", path, query, None)

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _call(
        self, method: str, path: tuple[str | int, ...], query: Mapping[str, object], body: object
    ) -> Any:
        target = target_of(path, query)
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        deadline = self._now() + self.options.retry_s
        pause_s = PAUSE_S
        with self._lock:
            while True:
                failures = []
                for url in tuple(self._urls):
                    answer = self._once(url, method, target, data)
                    if not isinstance(answer, _Failure):
                        self._prefer(url)
                        return answer[0]
                    failures.append(answer)
                    if not answer.may_repeat:
                        break
                if not self._may_pass(failures) or self._now() + pause_s > deadline:
                    raise _given_up(failures)
                # Many tasks fail at once when a registry stops; they need not come back at once.
                self._sleep(pause_s * random.uniform(0.8, 1.2))
                pause_s = min(2 * pause_s, PAUSE_MAX_S)

    def _may_pass(self, failures: list[_Failure]) -> bool:
        if not failures[-1].may_repeat or all(failure.lasts for failure in failures):
            return False
        return self.options.waits_for_start or any(failure.reason != NOTHING_THERE for failure in failures)

    def _prefer(self, url: str) -> None:
        if self._urls[0] != url:
            self._urls.remove(url)
            self._urls.insert(0, url)

    def _once(self, url: str, method: str, target: str, data: bytes | None) -> _Failure | tuple[Any]:
        repeats = method != "DELETE"
        if not repeats and url in self._open:
            # A registry may close an idle connection at any time, and then it is unknown what it has done.
            self._open.pop(url).close()
        is_reused = url in self._open
        connection = self._open.get(url)
        is_sent = False
        try:
            if connection is None:
                connection = self._connect(url, self.options)
                connection.connect()
                self._open[url] = connection
            headers = self._headers if data is None else {**self._headers, "Content-Type": CONTENT}
            is_sent = True
            connection.request(method, urlsplit(url).path + target, data, headers)
            response = connection.getresponse()
            content = response.read(ANSWER_BYTES_MAX + 1)
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            if connection is not None:
                connection.close()
            self._open.pop(url, None)
            if is_reused and repeats:
                return self._once(url, method, target, data)
            lasts = isinstance(error, ssl.SSLCertVerificationError)
            return _Failure(url, _reason(error), may_repeat=repeats or not is_sent, lasts=lasts)
        if len(content) > ANSWER_BYTES_MAX:
            self._open.pop(url).close()
            raise NotARegistry(f"{url} answers with more than {ANSWER_BYTES_MAX >> 20} MiB; check the URL")
        if 300 <= response.status < 400:  # not followed: credentials are for this URL
            leads_to = _excerpt((response.getheader("location") or "").encode())
            raise NotARegistry(f"{url} redirects to {leads_to}; give the registry's own URL")
        return _answer(url, response.status, content, may_repeat=repeats or response.status in (429, 503))


def target_of(path: tuple[str | int, ...], query: Mapping[str, object]) -> str:
    """The path with each part quoted, and the parts of the query that are set."""
    pairs = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in query.items()
        if value is not None and value is not False
    }
    return "".join(f"/{quote(str(part), safe='')}" for part in path) + (
        f"?{urlencode(pairs)}" if pairs else ""
    )


def connection_to(url: str, options: RegistryOptions) -> http.client.HTTPConnection:
    """A connection that is not open yet."""
    split = urlsplit(url)
    host = split.hostname or ""
    if split.scheme == "https":
        return http.client.HTTPSConnection(
            host, split.port or 443, timeout=options.timeout_s, context=options.tls.context
        )
    return http.client.HTTPConnection(host, split.port or 80, timeout=options.timeout_s)


def _authorization(options: RegistryOptions) -> dict[str, str]:
    if options.token is not None:
        return {"Authorization": f"Bearer {options.token.strip()}"}
    if options.user is None:
        return {}
    pair = f"{options.user}:{options.password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}"}


def _answer(url: str, status: int, content: bytes, *, may_repeat: bool) -> _Failure | tuple[Any]:
    try:
        body = json.loads(content) if content.strip() else None
    except (ValueError, RecursionError):
        body = content
    if status < 300:
        if isinstance(body, bytes):
            raise NotARegistry(f"{url} answers with {_excerpt(content)}, which is no JSON; check the URL")
        return (body,)
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        code = body.get("error_code")
        refusal = RegistryRefused(status, code if isinstance(code, int) else status, body["message"])
    else:
        refusal = RegistryRefused(status, status, _excerpt(content))
    if status in PASSING:
        return _Failure(url, str(refusal), may_repeat, refusal, lasts=refusal.code == 500)
    if isinstance(body, bytes) and status == 404:
        raise NotARegistry(
            f"{url} answers 404 with {_excerpt(content)}, as no schema registry does; check the URL"
        )
    raise refusal


def _given_up(failures: list[_Failure]) -> Exception:
    if failures[-1].refusal is not None and failures[-1].refusal.status == 500:
        return failures[-1].refusal  # it could answer, and its words say most
    reasons = "; ".join(f"{failure.url}: {failure.reason}" for failure in failures)
    return RegistryUnavailable(
        f"no schema registry answers ({reasons}). Check that it runs, and that the URL is right"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return NOTHING_THERE
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate cannot be trusted ({error.verify_message}); name its authority: ssl.ca.location"
        )
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, http.client.BadStatusLine) and not isinstance(error, ConnectionError):
        return "the answer is no HTTP; TLS may be wanted (https://)"
    return str(error) or type(error).__name__


def _excerpt(content: bytes) -> str:
    text = " ".join(content.decode("utf-8", "replace").split())
    return (
        repr(text[:SHOWN_CHARACTERS] + ("…" if len(text) > SHOWN_CHARACTERS else "")) if text else "nothing"
    )
