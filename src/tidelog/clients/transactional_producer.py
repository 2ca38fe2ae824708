"""Producers that write in transactions, under a name that outlives them: both for threads and for asyncio."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self, overload

from tidelog.clients.async_producer import AsyncProducer
from tidelog.clients.async_transaction import to_its_end
from tidelog.clients.errors import UsageError
from tidelog.clients.producer import Producer
from tidelog.clients.producer_config import ProducerConfig
from tidelog.clients.records import Data, Key, Value
from tidelog.clients.serializers import Serializer, data_serializer


class TransactionalProducer(Producer[Key, Value]):
    """One per transactional id at a time: the newest fences those before it, and ends what they left open.

    Entering the block gets the id, so that this happens before anything is read or written.
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
    """The twin for asyncio. Make it where the loop runs, and use it on that loop."""

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
