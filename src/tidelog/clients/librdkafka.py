"""Opening librdkafka's clients: their log lines go to `logging`, their refusals become ConfigurationError."""

import logging
import weakref
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from tidelog.clients.errors import ConfigurationError
from tidelog.clients.repeated_lines import WithoutRepeats

LOG = logging.getLogger("tidelog.clients.librdkafka")
LOG.addFilter(WithoutRepeats())

OpenClient = Callable[[dict[str, Any]], Any]
Serve = Callable[[float], Any]


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


def heeding_fatal_errors(serve: Serve, on_error: Callable[[Any], None]) -> Serve:
    """Its binding raises a fatal error out of whatever serves callbacks, and tells error_cb nothing.

    `on_error` is a method, held weakly as above.
    """
    ours = weakref.WeakMethod(on_error)

    def heed(timeout_s: float) -> Any:
        try:
            return serve(timeout_s)
        except KafkaException as error:
            inner, method = error.args[0], ours()
            if method is None or not isinstance(inner, KafkaError) or not inner.fatal():
                raise
            method(inner)
            return serve(timeout_s)  # raised once; the others' outcomes are to be served all the same

    return heed
