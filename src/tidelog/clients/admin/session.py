"""How `Admin` calls librdkafka: wait for every answer, then raise the first refusal."""

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as LibrdkafkaPlace
from confluent_kafka.admin import AdminClient

from tidelog.clients.admin.results import Node
from tidelog.clients.client_config import AdminConfig
from tidelog.clients.connection import SLICE_S, Connection
from tidelog.clients.error_table import from_exception, translated
from tidelog.clients.errors import ClientClosed, ClientError, RequestTimedOut, UsageError
from tidelog.clients.librdkafka import open_librdkafka
from tidelog.clients.log import LOG

GRACE_S = 5.0  # librdkafka gives up by itself; ours is for when it does not


class AdminSession:
    """Calls answer when the brokers have; an error of one item is raised after all items were answered."""

    def __init__(self, config: AdminConfig | Mapping[str, Any]) -> None:
        self.config = AdminConfig.of(config)
        self._timeout_s = self.config.request_timeout_ms / 1000
        properties = self.config.to_librdkafka()
        self._connection = Connection.of(properties)
        self._client: Any = open_librdkafka(AdminClient, properties, self._on_error)

    def _answers(
        self, what: str, call: Callable[..., Mapping[Any, Any]], *arguments: Any, **named: Any
    ) -> dict[Any, Any]:
        """{item: result or ClientError} of a call that gives a future per item."""
        answers: dict[Any, Any] = {}
        for item, future in self._start(what, call, *arguments, **named).items():
            try:
                answers[item] = self._result(f"{what} {_item_text(item)}".strip(), future)
            except ClientError as error:
                answers[item] = error
        return answers

    def _all(
        self, what: str, call: Callable[..., Mapping[Any, Any]], *arguments: Any, **named: Any
    ) -> dict[Any, Any]:
        """{item: result}; raises the first refusal."""
        answers = self._answers(what, call, *arguments, **named)
        raise_first_refusal(answers)
        return answers

    def _one(self, what: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """The result of a call that gives a single future."""
        return self._result(what, self._start(what, call, *arguments, **named))

    def _start(self, what: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        if self._client is None:
            raise ClientClosed("The admin client is closed.")
        try:
            with translated(what):
                return call(self._client, *arguments, request_timeout=self._timeout_s, **named)
        except (ValueError, TypeError) as error:  # confluent-kafka's own checks
            raise UsageError(
                f"{what} is not possible: {error}.", cause="an argument is out of its bounds."
            ) from error

    def _result(self, what: str, future: Any) -> Any:
        try:
            answer = self._awaited(future)
        except KafkaException as error:
            raise self._connection.explained(from_exception(error, what)) from error
        except TimeoutError as error:
            silence = RequestTimedOut(f"{what} got no answer.", retriable=True)
            raise self._connection.explained(silence) from error
        self._connection.reached = True
        return answer

    def _awaited(self, future: Any) -> Any:
        """As long as no broker has answered, with an eye on what librdkafka says."""
        deadline = time.monotonic() + self._timeout_s + GRACE_S
        while not self._connection.reached and time.monotonic() < deadline:
            try:
                return future.result(SLICE_S)
            except TimeoutError:
                self._client.poll(0)
                self._connection.check()
        return future.result(max(0.0, deadline - time.monotonic()))

    def close(self) -> None:
        """End. The end of the `with` block does it too."""
        self._client = None  # librdkafka's object ends with its last reference

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _on_error(self, error: Any) -> None:
        self._connection.heard(error)
        LOG.debug("librdkafka reports %s", error)


def raise_first_refusal(answers: Mapping[Any, Any]) -> None:
    for answer in answers.values():
        if isinstance(answer, ClientError):
            raise answer


def node_of(node: Any) -> Node | None:
    return None if node is None or node.id < 0 else Node(node.id, node.host, node.port, node.rack)


def _item_text(item: Any) -> str:
    """How to name one thing of many: a topic, a partition, a resource, a group."""
    if isinstance(item, str):
        return repr(item)
    if isinstance(item, LibrdkafkaPlace):
        return f"{item.topic}[{item.partition}]"
    return repr(item.name) if item.name else "all brokers"
