"""From a frame to its answer: header, version check, decode, handler, encode.

A handler is a plain function or a coroutine function. Plain ones answer at once or hand back a future or
a pending answer, which keeps the busiest requests free of a task each.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from inspect import isawaitable, iscoroutine
from typing import Any, NamedTuple

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import FileSlice
from tidelog.broker.handlers import HANDLERS, load
from tidelog.broker.handlers.cluster.api_versions import unsupported_version
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.early_requests import EarlyRequests
from tidelog.broker.requests.forwarding import (
    BETWEEN_BROKERS,
    FORWARD_SECONDS,
    FORWARD_SECONDS_MAX,
    FORWARDED,
    is_refused_as_controller,
)
from tidelog.broker.requests.not_offered import refusal_of
from tidelog.broker.requests.produce_shortcut import PRODUCE, ProduceShortcut
from tidelog.broker.requests.reply import CloseConnection, LateReply, PendingReply, Reply
from tidelog.broker.requests.request_order import may_overlap
from tidelog.groups.outcome import Pending
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.codec import decoder
from tidelog.wire.frame import read_request_header, response_writer, write_response
from tidelog.wire.message import Part

Handler = Callable[[Context, Any], Any]

SERVED_BEFORE_OPEN = BETWEEN_BROKERS | {ApiKey.API_VERSIONS}

log = logging.getLogger("tidelog.broker")


class Route(NamedTuple):
    """All that the requests of one API and version need, looked up once."""

    name: str
    handle: Handler
    decode: Callable[[memoryview, int, bool], Any]
    response_class: type
    write: Callable[[int, Any], list[Part]]


TOKEN_BYTES = 16


class Dispatcher:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._shortcut = ProduceShortcut(services)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._routes: dict[tuple[int, int], Route] = {}
        self._early = EarlyRequests(self.dispatch)
        self.is_open = False
        """Until the broker knows the cluster and its part in it, only brokers are served; clients wait."""

    may_overlap = staticmethod(may_overlap)

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        if connection.produce_front_end and (reply := self._shortcut.answer(frame, connection)) is not None:
            return reply
        header, body_at = read_request_header(frame)
        api_key, version, _, client_id = header
        if api_key in BETWEEN_BROKERS and connection.listener != self._services.inter_broker_listener:
            raise ProtocolError(
                f"API key {api_key} is for brokers, on another listener than {connection.listener}"
            )
        if not self.is_open and api_key not in SERVED_BEFORE_OPEN and not self._early.is_serving:
            return self._early.hold(frame, connection)
        route = self._routes.get((api_key, version)) or self._find_route(api_key, version)
        if route is None:
            # A newer client asks first with the version it likes best: tell it ours, in the oldest form.
            return Reply(write_response(api_key, 0, header.correlation_id, unsupported_version()))
        request = route.decode(frame, body_at, True)
        services = self._services
        context = Context(services, connection, version, client_id)
        context.throttle_ms = services.throttle.charge(connection, client_id, api_key, len(frame))
        if api_key in FORWARDED:
            asking = self._ask_controller(bytes(frame), route, request, header.correlation_id, context)
            # The client may go meanwhile. Half of a change would be worse than all of it.
            return asyncio.shield(self._own(asking, route.name))
        answer = route.handle(context, request)
        if api_key == PRODUCE and self.is_open:  # before that, a short way would overtake those that wait
            self._shortcut.learn(frame, version, client_id, request, connection)
        if type(answer) is not route.response_class:
            if isinstance(answer, Pending):
                return self._when_settled(answer, route, header.correlation_id, context)
            if iscoroutine(answer):
                answer = self._own(answer, route.name)
            if isinstance(answer, asyncio.Future):
                number = header.correlation_id
                return LateReply(answer, lambda given: self._reply(given, route, number, context))
        return self._reply(answer, route, header.correlation_id, context)

    def open(self) -> None:
        """The broker is ready: serve everybody, first those that have waited for it."""

        def opened() -> None:
            self.is_open = True

        self._early.serve(opened)

    async def _ask_controller(
        self, frame: bytes, route: Route, request: Any, correlation_id: int, context: Context
    ) -> Reply | None:
        """This broker's own answer while it is the controller; else the controller's, as it is."""
        context.token = self._services.random.bytes(TOKEN_BYTES)
        if self._services.metadata.decides_here:
            answer = await self._handled(route, request, context)
            if not is_refused_as_controller(answer):
                return self._reply(answer, route, correlation_id, context)
        try:
            asked_for = getattr(request, "timeout_ms", 0) / 1000
            seconds = min(max(FORWARD_SECONDS, asked_for), FORWARD_SECONDS_MAX)
            passed_on = await self._services.forwarding.pass_on(
                frame, context.connection, context.token, seconds
            )
        except OSError as error:
            log.warning("%s of %s could not be passed on: %s", route.name, context.connection, error)
            refusal = await self._handled(route, request, context)
            return self._reply(refusal, route, correlation_id, context)
        return Reply([len(passed_on).to_bytes(4, "big"), passed_on])

    @staticmethod
    async def _handled(route: Route, request: Any, context: Context) -> Any:
        answer = route.handle(context, request)
        return await answer if isawaitable(answer) else answer

    async def call_here(self, api_key: int, version: int, request: Any) -> Any:
        """A request of this very broker, without a connection."""
        route = self._routes.get((api_key, version)) or self._find_route(api_key, version)
        if route is None:
            raise ProtocolError(f"version {version} of ApiVersions is not offered by this broker")
        return await self._handled(
            route, request, Context(self._services, ClientConnection("", 0, ""), version, None)
        )

    async def answer_forwarded(
        self, frame: memoryview, connection: ClientConnection, token: bytes
    ) -> bytes | None:
        """Another broker's client asks; this broker is the controller, or was: then there is no answer."""
        header, body_at = read_request_header(frame)
        api_key, version, correlation_id, client_id = header
        if api_key not in FORWARDED:
            raise ProtocolError(f"API key {api_key} is not for the controller")
        route = self._routes.get((api_key, version)) or self._find_route(api_key, version)
        if route is None:
            raise ProtocolError(f"API key {api_key} is not for the controller")
        request = route.decode(frame, body_at, True)
        context = Context(self._services, connection, version, client_id)
        context.token = token
        answer = await self._handled(route, request, context)
        if is_refused_as_controller(answer):
            return None
        parts = route.write(correlation_id, answer)
        whole = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
        return whole[4:]

    def _find_route(self, api_key: int, version: int) -> "Route | None":
        """None for a version of ApiVersions that is not ours, which is no reason to close a connection."""
        spec = API.get(api_key)
        handle: Handler | None = None
        if spec is not None:
            handle = load(ApiKey(api_key)) if api_key in HANDLERS else refusal_of(spec)
        if spec is None or handle is None:
            raise ProtocolError(f"API key {api_key} is not offered by this broker")
        if not spec.supports(version):
            if api_key == ApiKey.API_VERSIONS:
                return None
            raise ProtocolError(f"version {version} of {spec.name} is not offered by this broker")
        route = Route(
            spec.name,
            handle,
            decoder(spec.request_class(), version),
            spec.response_class(),
            response_writer(api_key, version),
        )
        self._routes[api_key, version] = route
        return route

    def _reply(self, answer: Any, route: Route, correlation_id: int, context: Context) -> Reply | None:
        if answer is None:
            return None
        if isinstance(answer, CloseConnection):
            log.info("closing %s: %s", context.connection, answer.reason)
            return Reply([], close=True)
        if context.throttle_ms:
            answer.throttle_time_ms = context.throttle_ms
        return Reply(route.write(correlation_id, answer), context.throttle_ms)

    def _when_settled(
        self, answer: Pending[Any], route: Route, correlation_id: int, context: Context
    ) -> "asyncio.Future[Reply | None]":
        """For answers that come by a call instead of a future."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def finish(given: Any) -> None:
            if not reply.done():
                reply.set_result(self._reply(given, route, correlation_id, context))

        answer.on_done(finish)
        return reply

    def _own(self, work: Coroutine[Any, Any, Any], name: str) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))
