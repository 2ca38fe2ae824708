"""Tidelog: a message queue that speaks the Kafka protocol, written in Python.

The client's names are loaded on first use: `import tidelog` stays cheap, and a broker never loads librdkafka.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from tidelog.base.errors import TidelogError as TidelogError
    from tidelog.clients.admin.admin import Admin as Admin
    from tidelog.clients.admin.offsets import OffsetAt as OffsetAt
    from tidelog.clients.admin.results import ClusterDescription as ClusterDescription
    from tidelog.clients.admin.results import ConfigSource as ConfigSource
    from tidelog.clients.admin.results import ConfigValue as ConfigValue
    from tidelog.clients.admin.results import FoundOffset as FoundOffset
    from tidelog.clients.admin.results import GroupDescription as GroupDescription
    from tidelog.clients.admin.results import GroupListing as GroupListing
    from tidelog.clients.admin.results import GroupMember as GroupMember
    from tidelog.clients.admin.results import GroupState as GroupState
    from tidelog.clients.admin.results import GroupType as GroupType
    from tidelog.clients.admin.results import Node as Node
    from tidelog.clients.admin.results import PartitionDescription as PartitionDescription
    from tidelog.clients.admin.results import TopicDescription as TopicDescription
    from tidelog.clients.client_config import AdminConfig as AdminConfig
    from tidelog.clients.consumer.async_consumer import AsyncConsumer as AsyncConsumer
    from tidelog.clients.consumer.config import ConsumerConfig as ConsumerConfig
    from tidelog.clients.consumer.consumer import Consumer as Consumer
    from tidelog.clients.errors import AuthenticationFailed as AuthenticationFailed
    from tidelog.clients.errors import AuthorizationFailed as AuthorizationFailed
    from tidelog.clients.errors import BufferFull as BufferFull
    from tidelog.clients.errors import ClientClosed as ClientClosed
    from tidelog.clients.errors import ClientError as ClientError
    from tidelog.clients.errors import CommitRefused as CommitRefused
    from tidelog.clients.errors import ConfigurationError as ConfigurationError
    from tidelog.clients.errors import ConnectionFailed as ConnectionFailed
    from tidelog.clients.errors import ConsumeError as ConsumeError
    from tidelog.clients.errors import CoordinatorUnavailable as CoordinatorUnavailable
    from tidelog.clients.errors import DataError as DataError
    from tidelog.clients.errors import DeliveryTimedOut as DeliveryTimedOut
    from tidelog.clients.errors import DeserializationError as DeserializationError
    from tidelog.clients.errors import GroupError as GroupError
    from tidelog.clients.errors import GroupNotEmpty as GroupNotEmpty
    from tidelog.clients.errors import JobLost as JobLost
    from tidelog.clients.errors import MemberFenced as MemberFenced
    from tidelog.clients.errors import MessageTooLarge as MessageTooLarge
    from tidelog.clients.errors import NoLeader as NoLeader
    from tidelog.clients.errors import NotEnoughReplicas as NotEnoughReplicas
    from tidelog.clients.errors import OffsetOutOfRange as OffsetOutOfRange
    from tidelog.clients.errors import PollIntervalExceeded as PollIntervalExceeded
    from tidelog.clients.errors import ProduceError as ProduceError
    from tidelog.clients.errors import ProducerFenced as ProducerFenced
    from tidelog.clients.errors import RequestRefused as RequestRefused
    from tidelog.clients.errors import RequestTimedOut as RequestTimedOut
    from tidelog.clients.errors import SerializationError as SerializationError
    from tidelog.clients.errors import TopicError as TopicError
    from tidelog.clients.errors import TopicExists as TopicExists
    from tidelog.clients.errors import TransactionAborted as TransactionAborted
    from tidelog.clients.errors import TransactionUndecided as TransactionUndecided
    from tidelog.clients.errors import UnknownGroup as UnknownGroup
    from tidelog.clients.errors import UnknownTopic as UnknownTopic
    from tidelog.clients.errors import UnsupportedByBroker as UnsupportedByBroker
    from tidelog.clients.errors import UsageError as UsageError
    from tidelog.clients.options import AckMode as AckMode
    from tidelog.clients.options import AssignmentStrategy as AssignmentStrategy
    from tidelog.clients.options import CompressionType as CompressionType
    from tidelog.clients.options import GroupProtocol as GroupProtocol
    from tidelog.clients.options import IsolationLevel as IsolationLevel
    from tidelog.clients.options import OffsetResetPolicy as OffsetResetPolicy
    from tidelog.clients.options import Partitioner as Partitioner
    from tidelog.clients.producer.async_producer import AsyncProducer as AsyncProducer
    from tidelog.clients.producer.async_transaction import AsyncTransaction as AsyncTransaction
    from tidelog.clients.producer.config import ProducerConfig as ProducerConfig
    from tidelog.clients.producer.producer import Producer as Producer
    from tidelog.clients.producer.transaction import Transaction as Transaction
    from tidelog.clients.producer.transactional_producer import (
        AsyncTransactionalProducer as AsyncTransactionalProducer,
    )
    from tidelog.clients.producer.transactional_producer import TransactionalProducer as TransactionalProducer
    from tidelog.clients.queue.async_queue import AsyncQueue as AsyncQueue
    from tidelog.clients.queue.config import QueueConfig as QueueConfig
    from tidelog.clients.queue.job import Job as Job
    from tidelog.clients.queue.queue import Queue as Queue
    from tidelog.clients.records import Message as Message
    from tidelog.clients.records import OffsetAndMetadata as OffsetAndMetadata
    from tidelog.clients.records import Receipt as Receipt
    from tidelog.clients.records import TimestampType as TimestampType
    from tidelog.clients.records import TopicPartition as TopicPartition
    from tidelog.clients.schemas.avro import avro_serializer as avro_serializer
    from tidelog.clients.schemas.json_schema import json_schema_serializer as json_schema_serializer
    from tidelog.clients.schemas.protobuf import protobuf_serializer as protobuf_serializer
    from tidelog.clients.schemas.reading import schema_deserializer as schema_deserializer
    from tidelog.clients.serializers import bytes_deserializer as bytes_deserializer
    from tidelog.clients.serializers import bytes_serializer as bytes_serializer
    from tidelog.clients.serializers import json_deserializer as json_deserializer
    from tidelog.clients.serializers import json_serializer as json_serializer
    from tidelog.clients.serializers import text_deserializer as text_deserializer
    from tidelog.clients.serializers import text_serializer as text_serializer
    from tidelog.clients.tracing import consumer_span as consumer_span
    from tidelog.clients.tracing import trace_context as trace_context

# The same names again, for run time; a test compares the two.
_MODULES = {
    "base.errors": "TidelogError",
    "clients.admin.admin": "Admin",
    "clients.admin.offsets": "OffsetAt",
    "clients.admin.results": "ClusterDescription ConfigSource ConfigValue FoundOffset GroupDescription "
    "GroupListing GroupMember GroupState GroupType Node PartitionDescription TopicDescription",
    "clients.consumer.async_consumer": "AsyncConsumer",
    "clients.producer.async_producer": "AsyncProducer",
    "clients.producer.async_transaction": "AsyncTransaction",
    "clients.client_config": "AdminConfig",
    "clients.consumer.consumer": "Consumer",
    "clients.consumer.config": "ConsumerConfig",
    "clients.errors": "AuthenticationFailed AuthorizationFailed BufferFull ClientClosed ClientError "
    "CommitRefused ConfigurationError ConnectionFailed ConsumeError CoordinatorUnavailable DataError "
    "DeliveryTimedOut DeserializationError GroupError GroupNotEmpty JobLost MemberFenced MessageTooLarge "
    "NoLeader NotEnoughReplicas OffsetOutOfRange PollIntervalExceeded ProduceError ProducerFenced "
    "RequestRefused RequestTimedOut SerializationError TopicError TopicExists TransactionAborted "
    "TransactionUndecided UnknownGroup UnknownTopic UnsupportedByBroker UsageError",
    "clients.options": "AckMode AssignmentStrategy CompressionType GroupProtocol IsolationLevel "
    "OffsetResetPolicy Partitioner",
    "clients.producer.producer": "Producer",
    "clients.producer.config": "ProducerConfig",
    "clients.queue.async_queue": "AsyncQueue",
    "clients.queue.config": "QueueConfig",
    "clients.queue.job": "Job",
    "clients.queue.queue": "Queue",
    "clients.records": "Message OffsetAndMetadata Receipt TimestampType TopicPartition",
    "clients.schemas.avro": "avro_serializer",
    "clients.schemas.json_schema": "json_schema_serializer",
    "clients.schemas.protobuf": "protobuf_serializer",
    "clients.schemas.reading": "schema_deserializer",
    "clients.serializers": "bytes_deserializer bytes_serializer json_deserializer json_serializer "
    "text_deserializer text_serializer",
    "clients.tracing": "consumer_span trace_context",
    "clients.producer.transaction": "Transaction",
    "clients.producer.transactional_producer": "AsyncTransactionalProducer TransactionalProducer",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = list(_MODULE_OF)  # for `from tidelog import *` and `help(tidelog)`


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})
