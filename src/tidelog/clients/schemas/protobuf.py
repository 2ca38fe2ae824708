"""Protobuf messages with a schema of a registry: classes that protoc has generated."""

import base64
from typing import Any

from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.codecs import Codec
from tidelog.blocking.registry.errors import UnencodableValue
from tidelog.blocking.registry.framing import Framed, indexes_bytes, message_of
from tidelog.clients.schemas.registries import Registry
from tidelog.clients.schemas.subjects import SubjectName
from tidelog.clients.schemas.writing import SchemaSerializer, known_version
from tidelog.registry.schema import Reference, Schema, SchemaType
from tidelog.registry.subjects import qualified

BUILT_IN = "google/protobuf/"
"""Files that every registry knows."""


class _ProtobufSerializer(SchemaSerializer):
    def __init__(self, registry: Registry, message: Any, **how: Any) -> None:
        super().__init__(registry, **how)
        self._message = message

    def record_name(self) -> str:
        return str(self._message.DESCRIPTOR.full_name)

    def own_schema(self, client: RegistryClient, subject: str) -> Schema:
        return self._schema_of(self._message.DESCRIPTOR.file, client, subject)

    def _schema_of(self, file: Any, client: RegistryClient, subject: str) -> Schema:
        """The file's schema. Those of the files that it imports have subjects by the files' names, in the
        context of `subject`."""
        references = []
        for imported in file.dependencies:
            if not imported.name.startswith(BUILT_IN):
                own = qualified(imported.name, subject)
                version = self._version(own, self._schema_of(imported, client, own), client)
                references.append(Reference(imported.name, imported.name, version))
        text = base64.b64encode(file.serialized_pb).decode()
        return Schema(SchemaType.PROTOBUF, text, tuple(references))

    def _version(self, subject: str, schema: Schema, client: RegistryClient) -> int:
        if not self._auto_register:
            return known_version(client, subject, schema).version
        client.register(subject, schema)
        known = client.lookup(subject, schema)
        return client.version(subject).version if known is None else known.version

    def codec(self, schema: Schema, client: RegistryClient, subject: str) -> Codec:
        return MessageCodec(self._message)

    def plain(self, value: Any) -> Any:
        return value


class MessageCodec:
    """Of one generated class."""

    def __init__(self, message: Any) -> None:
        from tidelog.blocking.registry.protobuf_codec import path_of

        self._message = message
        self._indexes = indexes_bytes(path_of(message.DESCRIPTOR))

    def encode(self, value: Any) -> bytes:
        if not isinstance(value, self._message):
            raise UnencodableValue(
                f"a message {self._message.DESCRIPTOR.full_name} is wanted, not {type(value).__name__}"
            )
        return self._indexes + bytes(value.SerializeToString())

    def decode(self, found: Framed) -> Any:
        return self._message.FromString(message_of(found)[1])


def protobuf_serializer(
    registry: Registry,
    message: Any,
    *,
    subject_name: SubjectName = "topic",
    auto_register: bool = True,
    use_latest: bool = False,
    normalize: bool = False,
) -> SchemaSerializer:
    """Returns a serializer for a Protobuf message with a schema of a registry.

    Each value is a message of a class that protoc has generated. Files that its file imports are registered
    under their own names; with `auto_register=False` they are looked up. It needs
    `pip install 'tidelog[schemas]'`.

    Example:
        from google.protobuf.timestamp_pb2 import Timestamp

        from tidelog import Producer, ProducerConfig, protobuf_serializer

        config = ProducerConfig(bootstrap_servers=["localhost:9092"])
        moments = protobuf_serializer("http://localhost:8081", Timestamp)
        with Producer(config, value_serializer=moments) as producer:
            producer.send("moments", Timestamp(seconds=1_800_000_000))

    Args:
        registry: As for `avro_serializer`.
        message: The generated class.
        subject_name: As for `avro_serializer`; the record's name is the message's full name.
        auto_register: Whether a schema that the subject does not have is registered. False refuses it.
        use_latest: Write with the id of the subject's latest schema instead of registering this one.
        normalize: Whether texts that differ in no meaning are one schema.
    """
    return _ProtobufSerializer(
        registry,
        message,
        subject_name=subject_name,
        auto_register=auto_register,
        use_latest=use_latest,
        normalize=normalize,
    )
