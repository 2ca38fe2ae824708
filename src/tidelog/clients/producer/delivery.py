"""What becomes of a record that was handed to librdkafka: a receipt or an error, for a future and a callback.

librdkafka reports from whichever thread serves its callbacks: see `callback_service`.
"""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol, TypeAlias

from tidelog.clients.error_table import as_client_error
from tidelog.clients.errors import ClientError
from tidelog.clients.log import LOG
from tidelog.clients.records import Receipt

DeliveryCallback: TypeAlias = Callable[[Receipt | None, ClientError | None], None]
"""Called with a receipt or an error, the other one None, on any thread of the producer: keep it short."""


class Delivery(Protocol):
    """Waits for the outcome of one record."""

    def succeed(self, receipt: Receipt) -> None: ...

    def fail(self, error: ClientError) -> None: ...


def report_to(
    delivery: Delivery,
    topic: str,
    partition: int | None,
    resolve: Callable[[ClientError | None], ClientError | None],
) -> Callable[[Any, Any], None]:
    """The function that librdkafka calls once about a record. `resolve` may explain a failure better."""

    def report(error: Any, message: Any) -> None:
        if error is not None:
            failure = as_client_error(error, sending(topic, partition), producing=True)
            delivery.fail(resolve(failure) or failure)
        else:
            resolve(None)
            delivery.succeed(receipt_of(message))

    return report


def sending(topic: str, partition: int | None) -> str:
    return f"Sending to topic {topic!r}" + ("" if partition is None else f", partition {partition},")


def receipt_of(message: Any) -> Receipt:
    kind, timestamp = message.timestamp()
    offset = message.offset()
    return Receipt(
        message.topic(),
        message.partition(),
        offset if offset is not None and offset >= 0 else None,
        timestamp if kind else None,
    )


class DeliveryFuture(Future[Receipt]):
    """The future that `send` gives; it tells the callback too. What a callback raises is logged."""

    def __init__(self, callback: DeliveryCallback | None) -> None:
        super().__init__()
        self._callback = callback

    def cancel(self) -> bool:
        """A record on its way cannot be called back."""
        return False

    def succeed(self, receipt: Receipt) -> None:
        self.set_result(receipt)
        if self._callback is not None:
            self._tell(self._callback, receipt, None)

    def fail(self, error: ClientError) -> None:
        self.set_exception(error)
        if self._callback is not None:
            self._tell(self._callback, None, error)

    def _tell(self, callback: DeliveryCallback, receipt: Receipt | None, error: ClientError | None) -> None:
        try:
            callback(receipt, error)
        except Exception:
            LOG.exception("an on_delivery callback raised")
