"""The registry's ASGI app: from an HTTP request to a call of the API, and back.

Refuses here what needs no look at any schema: clients without credentials, paths, methods and content types
that do not exist, and bodies that are too long. The rest may be answered by another broker.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from tidelog.base.config.config import BrokerConfig
from tidelog.broker.registry.api.answers import error_answer, refusal
from tidelog.broker.registry.calls import ANONYMOUS, Answer, Call
from tidelog.broker.registry.router import find
from tidelog.broker.requests.context import Services
from tidelog.broker.security.authentication import NotChecked
from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.server.http.asgi import App, Receive, Scope, Send, answer, header
from tidelog.server.node_ports import Threads
from tidelog.server.registry.authentication import HttpAuthentication, Unauthenticated
from tidelog.server.registry.bodies import Bodies, Gone, TooLong, TooMany
from tidelog.server.registry.content_types import V1_JSON, chosen, is_taken
from tidelog.server.registry.logins import authentication_of, note_refusal

log = logging.getLogger("tidelog.http")

WITH_BODY = ("POST", "PUT")


def registry_app(config: BrokerConfig, services: Services, threads: Threads) -> App:
    """The app of a broker: its own service answers, or asks the leader. Credentials are checked on `threads`.

    Raises ConfigError.
    """
    assert services.registry is not None  # the port is open
    return RegistryApp(
        services.registry.call,
        body_bytes_max=config.int("schema.registry.request.max.bytes"),
        authentication=authentication_of(config, services, threads),
        refused_delay_seconds=config.int("connection.failed.authentication.delay.ms") / 1000,
        on_refused=partial(note_refusal, services),
    )


class Refused(Exception):
    def __init__(self, answer: Answer, headers: list[tuple[bytes, bytes]] | None = None) -> None:
        super().__init__(answer)
        self.answer = answer
        self.headers = headers or []


class RegistryApp:
    def __init__(
        self,
        call: Callable[[Call], Awaitable[Answer]],
        *,
        body_bytes_max: int,
        authentication: HttpAuthentication | None = None,
        refused_delay_seconds: float = 0.0,
        on_refused: Callable[[str, Unauthenticated], None] = lambda host, error: None,
    ) -> None:
        """Without `authentication` every client is `User:ANONYMOUS`. `on_refused` takes the host of a client
        that is not authenticated; its answer comes after the delay: passwords are not tried quickly."""
        self._call = call
        self._bodies = Bodies(body_bytes_max)
        self._authentication = authentication
        self._refused_delay_seconds = refused_delay_seconds
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        content_type, headers = V1_JSON, []
        try:
            host = (scope.get("client") or ("", 0))[0]
            principal = await self._principal(scope, host)
            method = "GET" if scope["method"] == "HEAD" else scope["method"]
            path = _raw_path(scope)
            _check_route(method, path)
            if method in WITH_BODY:
                _check_form_of_body(scope)
            content_type = _content_type(scope)
            query = scope.get("query_string", b"").decode("latin-1")
            async with self._bodies.read(receive) as body:
                found = await self._call(Call(method, path, query, body, principal, host))
        except Refused as refused:
            found, headers = refused.answer, refused.headers
        except RegistryError as error:
            found = error_answer(error)
        except TooLong:
            found = refusal(
                RegistryCode.SCHEMA_TOO_LARGE,
                f"The request is longer than {self._bodies.bytes_max} bytes, the limit of "
                "schema.registry.request.max.bytes. Split the schema, and refer to its parts by references.",
            )
        except TooMany:
            found = refusal(
                RegistryCode.UNAVAILABLE, "The registry is busy with large requests. Try again in a moment."
            )
            headers = [(b"retry-after", b"1")]
        except Gone:
            return
        await answer(send, found.status, found.body, content_type, headers)

    async def _principal(self, scope: Scope, host: str) -> str:
        authentication = self._authentication
        if authentication is None:
            return ANONYMOUS
        try:
            return await authentication.principal(header(scope, b"authorization"))
        except NotChecked as error:
            log.warning("credentials of %s were not checked: %s", host, error)
            busy = refusal(
                RegistryCode.UNAVAILABLE, "The credentials could not be checked now. Try again in a moment."
            )
            raise Refused(busy, [(b"retry-after", b"1")]) from error
        except Unauthenticated as error:
            self._on_refused(host, error)
            await asyncio.sleep(self._refused_delay_seconds)
            unauthorized = refusal(
                RegistryCode.UNAUTHORIZED,
                "Unauthorized: send the name and password of a user, or a token, that this cluster knows.",
            )
            challenges = [(b"www-authenticate", text.encode()) for text in authentication.challenges]
            raise Refused(unauthorized, challenges) from error


def _check_route(method: str, path: str) -> None:
    methods = find(path)
    if not methods:
        raise RegistryError(
            RegistryCode.NOT_FOUND,
            "HTTP 404 Not Found: there is nothing at this path of the schema registry.",
        )
    if method not in methods:
        shown = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
        code = RegistryCode.METHOD_NOT_ALLOWED
        raise Refused(
            refusal(code, f"HTTP 405 Method Not Allowed: this path takes {shown}."),
            [(b"allow", shown.encode())],
        )


def _check_form_of_body(scope: Scope) -> None:
    code = RegistryCode.UNSUPPORTED_MEDIA_TYPE
    if not is_taken(header(scope, b"content-type")):
        raise RegistryError(
            code, f"HTTP 415 Unsupported Media Type: send the body as {V1_JSON} or application/json."
        )
    encoding = header(scope, b"content-encoding").strip().lower()
    if encoding not in ("", "identity"):
        raise Refused(
            refusal(code, "HTTP 415 Unsupported Media Type: send the body without a Content-Encoding."),
            [(b"accept-encoding", b"identity")],
        )


def _content_type(scope: Scope) -> str:
    found = chosen(header(scope, b"accept"))
    if found is None:
        raise RegistryError(
            RegistryCode.NOT_ACCEPTABLE,
            f"HTTP 406 Not Acceptable: answers are {V1_JSON} or application/json.",
        )
    return found


def _raw_path(scope: Scope) -> str:
    raw = scope.get("raw_path")
    return raw.partition(b"?")[0].decode("latin-1") if raw else str(scope["path"])
