"""What is public, in the order of the page: names by section, and the methods and properties of a class."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Section:
    title: str
    module: str
    names: str
    text: str = ""


SECTIONS = [
    Section("Producing", "tidelog", "Producer AsyncProducer ProducerConfig Receipt"),
    Section(
        "Consuming",
        "tidelog",
        "Consumer AsyncConsumer ConsumerConfig Message TimestampType TopicPartition OffsetAndMetadata",
    ),
    Section("Queues", "tidelog", "Queue AsyncQueue QueueConfig Job"),
    Section(
        "Transactions",
        "tidelog",
        "TransactionalProducer AsyncTransactionalProducer Transaction AsyncTransaction",
    ),
    Section(
        "Administration",
        "tidelog",
        "Admin AdminConfig OffsetAt ClusterDescription Node TopicDescription PartitionDescription "
        "ConfigValue ConfigSource FoundOffset GroupListing GroupDescription GroupMember GroupState GroupType",
    ),
    Section(
        "Options",
        "tidelog",
        "AckMode CompressionType Partitioner OffsetResetPolicy IsolationLevel "
        "GroupProtocol AssignmentStrategy",
        "The words that configurations are written in.",
    ),
    Section(
        "Serializers",
        "tidelog",
        "bytes_serializer text_serializer json_serializer "
        "bytes_deserializer text_deserializer json_deserializer "
        "avro_serializer json_schema_serializer protobuf_serializer schema_deserializer",
        "A serializer is any function from an object to bytes, a deserializer any function back. None is "
        "never passed to them: a record without a key or value stays without.",
    ),
    Section(
        "Traces",
        "tidelog",
        "consumer_span trace_context",
        "Traces through records, with OpenTelemetry: `pip install 'tidelog[otel]'`, and `tracing=True` in "
        "the `ProducerConfig`.",
    ),
    Section(
        "Errors",
        "tidelog",
        "TidelogError ClientError ConfigurationError ClientClosed UsageError ConnectionFailed "
        "RequestTimedOut AuthenticationFailed AuthorizationFailed UnsupportedByBroker RequestRefused "
        "TopicError UnknownTopic TopicExists NoLeader ProduceError MessageTooLarge BufferFull "
        "DeliveryTimedOut NotEnoughReplicas ProducerFenced TransactionAborted TransactionUndecided "
        "ConsumeError OffsetOutOfRange PollIntervalExceeded JobLost GroupError CommitRefused "
        "CoordinatorUnavailable MemberFenced UnknownGroup "
        "GroupNotEmpty DataError SerializationError DeserializationError",
        "Every error says what happened, the likely cause and what to do. [The guide](../client.md#errors) "
        "draws the tree.",
    ),
    Section(
        "Testing",
        "tidelog.testing",
        "Broker Cluster Security",
        "A real broker, or a whole cluster, inside the test's process: [guide](../testing.md).",
    ),
    Section(
        "Fixtures of pytest",
        "tidelog.testing.pytest_plugin",
        "tidelog_broker tidelog_cluster tidelog_session_broker",
        "The plugin is active once Tidelog is installed. It imports nothing until a test asks for a broker.",
    ),
    Section(
        "Spark",
        "tidelog.spark",
        "spark_session decode_registered each_batch Build BadSchema InvalidPipeline SparkMissing",
        "With `pip install 'tidelog[spark]'`. Reading and writing need no import: they are options of "
        '`format("tidelog")` ([source](../spark.md), [sink](../spark-sink.md)).',
    ),
]


def public() -> Iterator[tuple[str, Any]]:
    """Every name on the page with its object."""
    for section in SECTIONS:
        module = importlib.import_module(section.module)
        for name in section.names.split():
            yield name, getattr(module, name)


def members(kind: type) -> list[tuple[str, Any]]:
    """Public methods and properties, those of bases without a place of their own on the page included."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base is not kind and (not base.__module__.startswith("tidelog") or documented_base(kind) is base):
            break
        for name, member in vars(base).items():
            if _is_shown(name, member):
                found.setdefault(name, member)
    return list(found.items())


def documented_base(kind: type) -> type | None:
    """The class on the page that this one extends."""
    known = {name for section in SECTIONS for name in section.names.split()}
    return next((base for base in kind.__mro__[1:] if base.__name__ in known), None)


SPOKEN = ("__len__", "__iter__", "__aiter__")


def _is_shown(name: str, member: Any) -> bool:
    is_code = isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
    return is_code and (not name.startswith("_") or (name in SPOKEN and member.__doc__ is not None))


def function_of(thing: Any) -> Callable[..., Any]:
    """The function behind a method, a property, a class method or a fixture of pytest."""
    if isinstance(thing, property):
        assert thing.fget is not None
        return thing.fget
    if isinstance(thing, classmethod | staticmethod):
        return thing.__func__
    return getattr(thing, "__wrapped__", None) or getattr(thing, "_get_wrapped_function", lambda: thing)()


def parameters(function: Callable[..., Any]) -> list[str]:
    names = list(inspect.signature(function).parameters)
    return [name for name in names if name not in ("self", "cls")]
