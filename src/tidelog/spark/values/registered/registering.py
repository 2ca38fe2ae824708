"""The schema that a pipeline writes with: registered, or found in the registry."""

import base64

from google.protobuf import descriptor_pb2

from tidelog.base.errors import TidelogError
from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.registry.schema import Schema, SchemaType
from tidelog.spark.values.errors import BadSchema
from tidelog.spark.values.registered.reader import SubjectChoice, builders_client

WELL_KNOWN = "google/protobuf/"


def registered_id(choice: SubjectChoice, schema: Schema, *, may_register: bool) -> int | None:
    """The schema's id, after it was registered where that may be.

    Else None where it has none yet and could have. BadSchema says why it cannot be of the subject."""
    client = builders_client(choice.registry)
    try:
        if may_register:
            return client.register(choice.subject, schema)
        return _checked(client, choice.subject, schema)
    except RegistryRefused as refusal:
        if refusal.is_incompatible:
            raise BadSchema(
                f"the rows that are written do not fit the earlier versions of {choice.subject}:"
                f" {refusal.message}; change the columns in a step, or write to another subject"
            ) from refusal
        raise BadSchema(f"the schema of {choice.subject} cannot be registered: {refusal}") from refusal
    except BadSchema:
        raise
    except TidelogError as error:
        raise BadSchema(f"the schema of {choice.subject} cannot be registered: {error}") from error


def _checked(client: RegistryClient, subject: str, schema: Schema) -> int | None:
    found = client.lookup(subject, schema)
    if found is not None:
        return found.id
    try:
        compatibility = client.check(subject, schema, None)
    except RegistryRefused as refusal:
        if refusal.is_not_found:  # it would be the first version
            return None
        raise
    if not compatibility.is_compatible:
        said = "; ".join(compatibility.messages) or "the registry does not say why"
        raise BadSchema(f"the rows that are written do not fit the earlier versions of {subject}: {said}")
    return None


def protobuf_schema_of(descriptors: bytes, message: str) -> Schema:
    """The file of a descriptor set that has the message, as Confluent's clients register it.

    BadSchema where the file imports others, which would need subjects of their own."""
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptors).file:
        prefix = f"{file.package}." if file.package else ""
        if any(f"{message}.".startswith(f"{prefix}{kind.name}.") for kind in file.message_type):
            others = [name for name in file.dependency if not name.startswith(WELL_KNOWN)]
            if others:
                raise BadSchema(
                    f"{file.name} imports {others[0]}: register both as the registry wants them"
                    " (`tidelog schema register`), and write with 'registry: {url: …, register: false}'"
                )
            return Schema(SchemaType.PROTOBUF, base64.b64encode(file.SerializeToString()).decode())
    raise BadSchema(f"no message {message}")
