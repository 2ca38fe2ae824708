"""Opening librdkafka's clients: their log lines go to `logging`, their refusals become ConfigurationError."""

import logging
import weakref
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaException

from tidelog.clients.errors import ConfigurationError

LOG = logging.getLogger("tidelog.clients.librdkafka")

OpenClient = Callable[[dict[str, Any]], Any]


def open_librdkafka(
    open_client: OpenClient, properties: dict[str, Any], on_error: Callable[[Any], None]
) -> Any:
    """`on_error` is a method. It is held weakly: a client that is forgotten unclosed must be able to go."""
    ours = weakref.WeakMethod(on_error)
    theirs = properties.get("error_cb")

    def both(error: Any) -> None:
        method = ours()
        if method is not None:
            method(error)
        if theirs is not None:
            theirs(error)

    properties["error_cb"] = both
    properties.setdefault("logger", LOG)
    try:
        return open_client(properties)
    except (KafkaException, ValueError, TypeError) as error:
        inner = error.args[0] if error.args else error
        said = (inner.str() if hasattr(inner, "str") else str(inner)).rstrip(".")
        raise ConfigurationError(
            f"librdkafka does not accept the configuration: {said}.",
            cause="a property in `extra` is misspelt, or contradicts another one.",
        ) from error
