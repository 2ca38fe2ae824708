"""From a frame to its reply: header, version check, decode, handler, encode."""

import asyncio
import logging
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.broker.handlers.cluster.api_versions import unsupported_version
from tidelog.broker.requests.answer import NO_RESPONSE, CloseConnection, LateAnswer, Response, response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.early_requests import EarlyRequests
from tidelog.broker.requests.forwarding import (
    BETWEEN_BROKERS,
    FORWARD_SECONDS,
    FORWARD_SECONDS_MAX,
    FORWARDED,
    SIZE_BYTES,
    is_refused_as_controller,
)
from tidelog.broker.requests.older_controller import refusal_for_controller
from tidelog.broker.requests.reply import LateReply, PendingReply, Reply, closing_reply
from tidelog.broker.requests.request_order import overlap_group
from tidelog.broker.requests.routes import Route, Routes
from tidelog.broker.requests.throttle import Timed, charge_of
from tidelog.broker.requests.tries import Tries
from tidelog.broker.security.request_charge import RequestCharge
from tidelog.security.audit.event import Actor
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_request_header, read_response, write_response

SERVED_BEFORE_OPEN = BETWEEN_BROKERS | {
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
}
TOKEN_BYTES = 16

log = logging.getLogger("tidelog.broker")


class Dispatcher:
    def __init__(self, services: Services, routes: Routes) -> None:
        self._services = services
        self._routes = routes
        self._tasks: set[asyncio.Task[Any]] = set()
        self._early = EarlyRequests(self.dispatch)
        self.is_open = False
        """False until the broker has joined its cluster: until then it serves brokers, and clients wait."""

    overlap_group = staticmethod(overlap_group)

    def accepted(self, connection: ClientConnection) -> None:
        """A client has connected. On a listener with SASL it must authenticate first."""
        put_gate = self._services.put_gate
        if put_gate is not None:
            put_gate(connection)

    def certificate_refused(self, connection: ClientConnection, reason: str) -> None:
        """A client was turned away by TLS already."""
        self._services.authentication_failures[connection.listener, "SSL"] += 1
        audit = self._services.audit
        if audit is not None:
            actor = Actor(connection.principal, connection.host, connection.listener)
            audit.authentication_failed(actor, "SSL", "", reason)

    def dispatch(self, frame: memoryview, connection: ClientConnection) -> Reply | PendingReply | None:
        fast_path = connection.fast_path
        if fast_path is not None and (reply := fast_path(frame, connection)) is not None:
            return reply
        header, body_at = read_request_header(frame)
        api_key, version, correlation_id, client_id = header
        if api_key in BETWEEN_BROKERS and connection.listener != self._services.inter_broker_listener:
            raise ProtocolError(
                f"API key {api_key} is for brokers, which use another listener than {connection.listener}"
            )
        if not self.is_open and api_key not in SERVED_BEFORE_OPEN and not self._early.is_serving:
            return self._early.hold(frame, connection)
        route = self._routes.find(api_key, version)
        if route is None:
            # A newer client asks first with its own newest version: list ours, in the oldest form.
            return Reply(write_response(api_key, 0, correlation_id, unsupported_version()))
        services = self._services
        context = Context(services, connection, version, client_id, route.name)
        if services.throttle is not None:
            context.charge = charge_of(
                services, connection, client_id, api_key, version=version, request_bytes=len(frame)
            )
        request = route.decode(frame, body_at, True)
        if api_key in FORWARDED and (route.stays_here is None or not route.stays_here(request)):
            refusal = None if route.check_here is None else route.check_here(context, request)
            if refusal is not None:
                return _reply(refusal, route, correlation_id, context)
            asking = self._ask_controller(bytes(frame), route, request, correlation_id, context)
            # The client may leave meanwhile. Half of a change would be worse than all of it.
            return asyncio.shield(self._future_of(asking, route.name, context.charge))
        try:
            answer = route.handle(context, request)
        except CloseConnection as error:
            return closing_reply(error)
        if route.fast_paths is not None and self.is_open:  # earlier, it would overtake requests that are held
            route.fast_paths.learn(frame, context, request)
        if type(answer) is route.response_class or answer is NO_RESPONSE:
            return _reply(answer, route, correlation_id, context)  # type: ignore[arg-type]
        if not isinstance(answer, LateAnswer):
            answer = self._future_of(answer, route.name, context.charge)
        return LateReply(answer, lambda response: _late_reply(response, route, correlation_id, context))

    def open(self) -> None:
        """The broker is ready: serve every client, first those whose requests are held."""

        def opened() -> None:
            self.is_open = True

        self._early.serve(opened)

    async def _ask_controller(
        self, frame: bytes, route: Route, request: Any, correlation_id: int, context: Context
    ) -> Reply | None:
        """Returns this broker's own answer while it is the controller, else the controller's, unchanged."""
        context.tries = tries = Tries(self._services.random.bytes(TOKEN_BYTES))
        if self._services.metadata.decides_here:
            tries.begin()
            response: Any = await response_of(route.handle(context, request))
            if not is_refused_as_controller(response):
                return _reply(response, route, correlation_id, context)
        if (refuse := refusal_for_controller(self._services.metadata, ApiKey(route.api_key))) is not None:
            return _reply(refuse(context, request), route, correlation_id, context)
        try:
            asked_for = getattr(request, "timeout_ms", 0) / 1000
            seconds = min(max(FORWARD_SECONDS, asked_for), FORWARD_SECONDS_MAX)
            passed_on = await self._services.forwarding.pass_on(frame, context.connection, tries, seconds)
        except OSError as error:
            log.warning("%s of %s could not be passed on: %s", route.name, context.connection, error)
            tries.begin()  # this broker may be the controller by now
            refusal: Response = await response_of(route.handle(context, request))
            return _reply(refusal, route, correlation_id, context)
        if self._services.throttle is None:
            return Reply([len(passed_on).to_bytes(SIZE_BYTES, "big"), passed_on])
        _, decided = read_response(route.api_key, context.version, memoryview(passed_on))
        context.throttle_ms = getattr(decided, "throttle_time_ms", 0)  # a quota of the controller
        return _reply(decided, route, correlation_id, context)

    def _future_of(self, answer: Any, name: str, charge: RequestCharge | None) -> "asyncio.Future[Any]":
        """A future is itself; a coroutine becomes a task, which `drain` waits for."""
        if charge is not None:
            charge.rest()
            if charge.counts_time and not isinstance(answer, asyncio.Future):
                answer = Timed(answer, charge)
        if type(answer) is asyncio.Future:
            return answer
        future: asyncio.Future[Any] = asyncio.ensure_future(answer)
        if isinstance(future, asyncio.Task):
            future.set_name(name)
            self._tasks.add(future)
            future.add_done_callback(self._tasks.discard)
        return future

    async def drain(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))


def _late_reply(response: Response, route: Route, correlation_id: int, context: Context) -> Reply | None:
    if context.charge is not None:
        context.charge.resume()
    return _reply(response, route, correlation_id, context)


def _reply(response: Response, route: Route, correlation_id: int, context: Context) -> Reply | None:
    charge, throttle_ms = context.charge, context.throttle_ms
    if charge is not None:
        throttle_ms = max(throttle_ms, charge.end())
    if response is NO_RESPONSE:
        return Reply([], throttle_ms, context.closes) if throttle_ms or context.closes else None
    if throttle_ms and "throttle_time_ms" in response.__struct_fields__:
        response.throttle_time_ms = throttle_ms  # type: ignore[attr-defined]
    reply = Reply(route.write(correlation_id, response), throttle_ms, context.closes)
    if charge is not None:
        charge.encoded()
    return reply
