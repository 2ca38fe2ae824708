"""What becomes of a record that was handed to librdkafka: a receipt or an error, for a future and a callback.

librdkafka reports from whichever thread serves its callbacks; `CallbackThread` makes sure that one does.
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeAlias

from tidelog.clients.error_table import as_client_error
from tidelog.clients.errors import ClientError
from tidelog.clients.records import Receipt

DeliveryCallback: TypeAlias = Callable[[Receipt | None, ClientError | None], None]
"""Called with a receipt or an error, the other one None, on the client's own thread: keep it short."""

LOG = logging.getLogger("tidelog.clients")
SERVE_S = 0.1  # also how long a close may wait for the thread


class Delivery(Protocol):
    """Waits for the outcome of one record."""

    def succeed(self, receipt: Receipt) -> None: ...

    def fail(self, error: ClientError) -> None: ...


def report_to(delivery: Delivery, topic: str, count: Callable[[int], None]) -> Callable[[Any, Any], None]:
    """The function that librdkafka calls once about a record."""

    def report(error: Any, message: Any) -> None:
        count(-1)
        if error is not None:
            delivery.fail(as_client_error(error, f"Sending to topic {topic!r}", producing=True))
        else:
            delivery.succeed(receipt_of(message))

    return report


def receipt_of(message: Any) -> Receipt:
    kind, timestamp = message.timestamp()
    offset = message.offset()
    return Receipt(
        message.topic(),
        message.partition(),
        offset if offset is not None and offset >= 0 else None,
        timestamp if kind else None,
    )


class FutureDelivery:
    """Completes a future, then tells the callback. What a callback raises is logged, as asyncio does."""

    __slots__ = ("_callback", "future")

    def __init__(self, callback: DeliveryCallback | None) -> None:
        self.future: Future[Receipt] = Future()
        self.future.set_running_or_notify_cancel()  # a record on its way cannot be called back
        self._callback = callback

    def succeed(self, receipt: Receipt) -> None:
        self.future.set_result(receipt)
        self._tell(receipt, None)

    def fail(self, error: ClientError) -> None:
        self.future.set_exception(error)
        self._tell(None, error)

    def _tell(self, receipt: Receipt | None, error: ClientError | None) -> None:
        if self._callback is None:
            return
        try:
            self._callback(receipt, error)
        except Exception:
            LOG.exception("an on_delivery callback raised")


class CallbackThread:
    """Serves librdkafka's callbacks until it is stopped."""

    def __init__(self, serve: Callable[[float], int], name: str) -> None:
        self._serve = serve
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._serve(SERVE_S)
            except Exception:  # a callback from `extra` raised; the deliveries of others must go on
                LOG.exception("a callback of librdkafka raised")

    def stop(self) -> None:
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
