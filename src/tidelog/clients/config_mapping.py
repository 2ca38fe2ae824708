"""A configuration from a dict: under Kafka's and librdkafka's names, or under the names of the fields.

`{"linger.ms": 5}` and `{"linger_ms": 5}` mean the same. A name without a field goes to librdkafka as it is.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args

from tidelog.clients.errors import ConfigurationError

# Where the name of a field is not the property's with underscores.
FIELD_OF = {
    "metadata.broker.list": "bootstrap_servers",
    "socket.timeout.ms": "request_timeout_ms",
    "request.required.acks": "acks",
    "queue.buffering.max.ms": "linger_ms",
    "compression.codec": "compression_type",
    "message.max.bytes": "max_request_size",
    "message.send.max.retries": "retries",
    "message.timeout.ms": "delivery_timeout_ms",
    "max.in.flight.requests.per.connection": "max_in_flight",
    "queue.buffering.max.messages": "buffer_records",
    "queue.buffering.max.kbytes": "buffer_memory",
    "partition.assignment.strategy": "assignment_strategy",
    "fetch.wait.max.ms": "fetch_max_wait_ms",
    "fetch.message.max.bytes": "max_partition_fetch_bytes",
    "queued.max.messages.kbytes": "buffer_memory",
}
IN_KILOBYTES = {"queue.buffering.max.kbytes", "queued.max.messages.kbytes"}
FLAGS = {"true": True, "false": False}


def read_properties(kind: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a configuration of this kind."""
    types = {field.name: field.type for field in fields(kind)}
    found: dict[str, Any] = {}
    extra = dict(given.get("extra", {}))
    names: dict[str, str] = {}
    for name, value in given.items():
        if name == "extra":
            continue
        field = FIELD_OF.get(name, name.replace(".", "_"))
        if field not in types or (field == "assignment_strategy" and "," in str(value)):
            extra[name] = value  # a list of strategies, too: the field takes one
            continue
        meant = _converted(name, value, types[field])
        if found.get(field, meant) != meant:
            raise ConfigurationError(
                f"{names[field]} and {name} are the same setting, and differ.",
                cause="librdkafka knows it by two names.",
                attempt="leave one of them out.",
            )
        names[field] = name
        found[field] = meant
    if "bootstrap_servers" not in found:
        raise ConfigurationError(
            "bootstrap.servers is missing.", attempt='name a broker: {"bootstrap.servers": "localhost:9092"}.'
        )
    return found | {"extra": extra}


def _converted(name: str, value: Any, wanted: Any) -> Any:
    """Text as librdkafka takes it: "5" is a number, "true" a flag."""
    kinds = (wanted, *get_args(wanted))
    if isinstance(value, str) and bool in kinds:
        value = FLAGS.get(value.lower(), value)
    elif isinstance(value, str) and int in kinds and value.strip().lstrip("-").isdigit():
        value = int(value)
    if name in ("acks", "request.required.acks") and str(value) == "-1":
        return "all"
    if name in IN_KILOBYTES and isinstance(value, int):
        return value * 1024
    return value
