"""From a frame to its answer: header, version check, decode, handler, encode.

A handler is a plain function or a coroutine function. Plain ones answer at once or hand back a future,
which keeps produce and fetch free of a task per request.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from inspect import iscoroutine
from typing import Any

from tidelog.base.errors import ProtocolError
from tidelog.broker.context import Context, Services
from tidelog.broker.handlers import HANDLERS, load
from tidelog.broker.handlers.api_versions import unsupported_version
from tidelog.broker.peer import Peer
from tidelog.broker.reply import CloseConnection, Reply
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.codec import decode
from tidelog.wire.frame import RequestHeader, read_request_header, write_response

Handler = Callable[[Context, Any], Any]

log = logging.getLogger("tidelog.broker")


class Dispatcher:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._tasks: set[asyncio.Task[Any]] = set()
        self._routes = {int(key): (load(key), API[key], API[key].request_class()) for key in HANDLERS}

    def dispatch(self, frame: memoryview, peer: Peer) -> "Reply | asyncio.Future[Reply | None] | None":
        header, body_at = read_request_header(frame)
        route = self._routes.get(header.api_key)
        if route is None:
            raise ProtocolError(f"API key {header.api_key} is not offered by this broker")
        handle, spec, request_class = route
        if not spec.min_version <= header.api_version <= spec.max_version:
            return self._refuse_version(header, spec.name)
        request = decode(request_class, header.api_version, frame, body_at, rest=True)
        services = self._services
        context = Context(services, peer, header.api_version, header.client_id)
        context.throttle_ms = services.throttle.charge(peer, header.client_id, header.api_key, len(frame))
        answer = handle(context, request)
        if iscoroutine(answer):
            answer = self._own(answer, spec.name)
        if isinstance(answer, asyncio.Future):
            return self._later(answer, header, context)
        return self._reply(answer, header, context)

    def _refuse_version(self, header: RequestHeader, name: str) -> Reply:
        if header.api_key == ApiKey.API_VERSIONS:
            # A newer client asks first with the version it likes best: tell it ours, in the oldest form.
            return Reply(write_response(header.api_key, 0, header.correlation_id, unsupported_version()))
        raise ProtocolError(f"version {header.api_version} of {name} is not offered by this broker")

    def _reply(self, answer: Any, header: RequestHeader, context: Context) -> Reply | None:
        if answer is None:
            return None
        if isinstance(answer, CloseConnection):
            log.info("closing %s: %s", context.peer, answer.reason)
            return Reply([], close=True)
        if context.throttle_ms:
            answer.throttle_time_ms = context.throttle_ms
        parts = write_response(header.api_key, header.api_version, header.correlation_id, answer)
        return Reply(parts, throttle_ms=context.throttle_ms)

    def _later(
        self, answer: "asyncio.Future[Any]", header: RequestHeader, context: Context
    ) -> "asyncio.Future[Reply | None]":
        """A future of the encoded reply. Cancelling it (the peer has gone) ends a wait, but not a change
        of the cluster that is under way in a task: half of one would be worse than all of it."""
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def finish(done: "asyncio.Future[Any]") -> None:
            if reply.done():
                return
            if done.cancelled():
                reply.cancel()
                return
            try:
                reply.set_result(self._reply(done.result(), header, context))
            except Exception as error:
                reply.set_exception(error)

        answer.add_done_callback(finish)
        if not isinstance(answer, asyncio.Task):
            reply.add_done_callback(lambda r: answer.cancel() if r.cancelled() else None)
        return reply

    def _own(self, work: Coroutine[Any, Any, Any], name: str) -> "asyncio.Task[Any]":
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def drain(self) -> None:
        while self._tasks:
            await asyncio.wait(set(self._tasks))
