"""Producers that write in transactions, under a name that outlives them: both for threads and for asyncio."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self, overload

from tidelog.clients.errors import UsageError
from tidelog.clients.producer.async_producer import AsyncProducer
from tidelog.clients.producer.async_transaction import to_its_end
from tidelog.clients.producer.config import ProducerConfig
from tidelog.clients.producer.producer import Producer
from tidelog.clients.records import Data, Key, Value
from tidelog.clients.serializers import Serializer, data_serializer


class TransactionalProducer(Producer[Key, Value]):
    """A `Producer` whose records are seen all together or not at all.

    With the offsets of what was read in the same transaction, a loop that reads one topic and writes
    another is exactly-once, whatever process dies. Entering the `with` block fences every earlier producer
    of this `transactional_id`, and ends the transaction that it left open.

    Example:
        from tidelog import ProducerConfig, TransactionalProducer

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        with TransactionalProducer(config, transactional_id="billing-1") as producer:
            with producer.transaction() as tx:
                tx.send("invoices", "1")
                tx.send("audit", "invoice 1")

    Args:
        config: A `ProducerConfig`, or a dict: `{"bootstrap.servers": "localhost:9092"}`.
        transactional_id: A name that this process keeps over restarts; it may stand in the configuration
            instead.
        transaction_timeout_ms: The broker aborts a transaction that is open for longer. None: as in the
            configuration, else a minute.
        key_serializer: Turns keys into bytes. Without one, keys are bytes or str.
        value_serializer: Turns values into bytes. Without one, values are bytes or str.

    Attributes:
        config: The `ProducerConfig`, with the `transactional_id`.
    """

    @overload
    def __init__(
        self: "TransactionalProducer[Data, Data]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "TransactionalProducer[Key, Data]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        key_serializer: Serializer[Key],
    ) -> None: ...
    @overload
    def __init__(
        self: "TransactionalProducer[Data, Value]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        value_serializer: Serializer[Value],
    ) -> None: ...
    @overload
    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        key_serializer: Serializer[Key],
        value_serializer: Serializer[Value],
    ) -> None: ...
    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        key_serializer: Callable[[Any], bytes] = data_serializer,
        value_serializer: Callable[[Any], bytes] = data_serializer,
    ) -> None:
        super().__init__(
            with_transactions(config, transactional_id, transaction_timeout_ms),
            key_serializer=key_serializer,
            value_serializer=value_serializer,
        )

    def __enter__(self) -> Self:
        try:
            self._sender.take_over()
        except BaseException:
            self._sender.close(0)
            raise
        return self


class AsyncTransactionalProducer(AsyncProducer[Key, Value]):
    """A `TransactionalProducer` for asyncio.

    Make it where the loop runs, and use it on that loop only.

    Example:
        import asyncio

        from tidelog import AsyncTransactionalProducer, ProducerConfig

        async def main():
            config = ProducerConfig(bootstrap_servers=["localhost:9092"])
            async with AsyncTransactionalProducer(config, transactional_id="bookings-1") as producer:
                async with producer.transaction() as tx:
                    await tx.enqueue("bookings", "1")
                    await tx.send("audit", "booking 1")

        asyncio.run(main())

    Args:
        config: A `ProducerConfig`, or a dict: `{"bootstrap.servers": "localhost:9092"}`.
        transactional_id: A name that this process keeps over restarts; it may stand in the configuration
            instead.
        transaction_timeout_ms: The broker aborts a transaction that is open for longer. None: as in the
            configuration, else a minute.
        key_serializer: Turns keys into bytes. Without one, keys are bytes or str.
        value_serializer: Turns values into bytes. Without one, values are bytes or str.

    Attributes:
        config: The `ProducerConfig`, with the `transactional_id`.
    """

    @overload
    def __init__(
        self: "AsyncTransactionalProducer[Data, Data]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: "AsyncTransactionalProducer[Key, Data]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        key_serializer: Serializer[Key],
    ) -> None: ...
    @overload
    def __init__(
        self: "AsyncTransactionalProducer[Data, Value]",
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        value_serializer: Serializer[Value],
    ) -> None: ...
    @overload
    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        key_serializer: Serializer[Key],
        value_serializer: Serializer[Value],
    ) -> None: ...
    def __init__(
        self,
        config: ProducerConfig | Mapping[str, Any],
        *,
        transactional_id: str | None = None,
        transaction_timeout_ms: int | None = None,
        key_serializer: Callable[[Any], bytes] = data_serializer,
        value_serializer: Callable[[Any], bytes] = data_serializer,
    ) -> None:
        super().__init__(
            with_transactions(config, transactional_id, transaction_timeout_ms),
            key_serializer=key_serializer,
            value_serializer=value_serializer,
        )

    async def __aenter__(self) -> Self:
        try:
            await to_its_end(self._sender.take_over)
        except BaseException:
            await to_its_end(lambda: self._sender.close(0))
            raise
        return self


def with_transactions(
    given: ProducerConfig | Mapping[str, Any], id: str | None, timeout_ms: int | None
) -> ProducerConfig:
    """The id may stand in the configuration or beside it; checked as if it had been in it."""
    config = ProducerConfig.of(given)
    named = config.transactional_id if id is None else id
    if named is None:
        raise UsageError(
            "A transactional producer needs a name that it keeps over restarts.",
            cause="neither the call nor its ProducerConfig has a transactional_id.",
            attempt='TransactionalProducer(config, transactional_id="billing-1")',
        )
    limit = config.transaction_timeout_ms if timeout_ms is None else timeout_ms
    return replace(config, transactional_id=named, transaction_timeout_ms=limit)
