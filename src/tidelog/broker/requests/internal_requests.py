"""Requests that reach this broker without a client's connection: its own, and those that brokers forward."""

from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.base.ports import FileSlice
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context, Services
from tidelog.broker.requests.forwarding import FORWARDED, SIZE_BYTES, is_refused_as_controller
from tidelog.broker.requests.routes import Routes
from tidelog.broker.requests.tries import Tries
from tidelog.wire.frame import read_request_header


class InternalRequests:
    def __init__(self, services: Services, routes: Routes) -> None:
        self._services = services
        self._routes = routes

    async def call(self, api_key: int, version: int, request: Any) -> Any:
        """Handle a request of this very broker and return the response."""
        route = self._routes.find(api_key, version)
        if route is None:
            raise ProtocolError(f"version {version} of ApiVersions is not offered by this broker")
        context = Context(self._services, ClientConnection.of_broker_itself(), version, None)
        return await response_of(route.handle(context, request))

    async def answer_forwarded(
        self, frame: memoryview, client: ClientConnection, tries: Tries | None
    ) -> bytes | None:
        """Handle what a client of another broker asks of the controller.

        Returns the response frame without its size, or None if this broker is no longer the controller.
        """
        header, body_at = read_request_header(frame)
        api_key, version, correlation_id, client_id = header
        route = self._routes.find(api_key, version) if api_key in FORWARDED else None
        if route is None:
            raise ProtocolError(f"API key {api_key} is not for the controller")
        request = route.decode(frame, body_at, True)
        context = Context(self._services, client, version, client_id, route.name)
        context.tries = tries
        response: Any = await response_of(route.handle(context, request))
        if is_refused_as_controller(response):
            return None
        if context.throttle_ms:
            response.throttle_time_ms = context.throttle_ms  # the client's broker makes the pause
        parts = route.write(correlation_id, response)
        whole = b"".join(part.read() if isinstance(part, FileSlice) else part for part in parts)
        return whole[SIZE_BYTES:]
