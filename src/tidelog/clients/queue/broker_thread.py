"""The thread that fetches from one broker and acknowledges there, on a connection of its own."""

import threading
import time
from typing import TYPE_CHECKING

from tidelog.blocking.brokers import Brokers
from tidelog.blocking.connection import Connection
from tidelog.blocking.errors import Disconnected
from tidelog.clients.queue.core import NextRequest
from tidelog.clients.queue.delivered import RecordReader
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from tidelog.wire.messages.share_fetch import ShareFetchRequest

if TYPE_CHECKING:
    from tidelog.clients.queue.engine import QueueEngine

OURS = ApiKey.DESCRIBE_ROLES
"""Only Tidelog has this request: released records can be delayed there."""
RENEW_SINCE = 2
"""The version of ShareAcknowledge that extends locks."""


class BrokerThread:
    def __init__(self, engine: "QueueEngine", node: int) -> None:
        self._engine = engine
        self._node = node
        self._brokers = Brokers(engine.settings)
        self._connection: Connection | None = None
        self._reader = RecordReader()
        self.wake = threading.Condition(engine.lock)
        self.thread = threading.Thread(
            target=self._run, name=f"{engine.config.client_id}-queue-{node}", daemon=True
        )

    def start(self) -> None:
        self.thread.start()

    def _run(self) -> None:
        try:
            while (request := self._next()) is not None:
                self._exchange(request)
        except Exception as error:  # our own mistake; the application is to know
            self._engine.fail(error)
            with self._engine.lock:
                self._engine.ended(self._node)
        finally:
            self._close()

    def _next(self) -> NextRequest | None:
        engine = self._engine
        with engine.lock:
            while True:
                now = time.monotonic()
                step = engine.core.step(self._node, now)
                if step is None:
                    engine.ended(self._node)
                    return None
                if isinstance(step, NextRequest):
                    return step
                self.wake.wait(max(0.0, step - now))

    def _exchange(self, request: NextRequest) -> None:
        engine, core = self._engine, self._engine.core
        try:
            connection = self._connection or self._open()
            connection.renew_login()
            timeout_s = request.wait_ms / 1000 + engine.settings.limits.request_s
            answer = connection.call(request.message, timeout_s=timeout_s)
        except Disconnected as error:
            self._close()
            with engine.lock:
                core.disconnected(self._node, str(error), time.monotonic())
                engine.answered()
            return
        is_fetch = isinstance(request.message, ShareFetchRequest)
        delivered = self._reader.read(answer) if is_fetch else {}  # not under the lock: it takes long
        with engine.lock:
            now = time.monotonic()
            if is_fetch:
                core.fetched(self._node, answer, delivered, now)
            else:
                core.acknowledged(self._node, answer, now)
            failure = core.failure
            is_over = not core.sessions[self._node].is_open
            engine.answered()
        if is_over:
            # The broker keeps the locks of a session as long as its connection.
            self._close()
        if failure is not None:
            engine.fail(failure)

    def _open(self) -> Connection:
        engine = self._engine
        with engine.lock:
            address = engine.addresses.get(self._node)
        if address is None:
            raise Disconnected(f"broker {self._node} is not in the cluster now")
        connection = self._connection = self._brokers.open(address)
        can_renew = connection.version(ShareAcknowledgeRequest) >= RENEW_SINCE
        with engine.lock:
            session = engine.core.sessions[self._node]
            session.can_renew, session.can_delay = can_renew, connection.offers(OURS)
        return connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
