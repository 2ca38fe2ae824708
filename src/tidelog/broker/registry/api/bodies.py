"""What clients send, read from JSON. Unknown fields are ignored, as by Confluent's registry."""

from typing import Annotated, Any, TypeAlias

import msgspec

from tidelog.registry.errors import RegistryCode, RegistryError
from tidelog.registry.metadata import sent_metadata
from tidelog.registry.rule_sets import sent_rule_set
from tidelog.registry.schema import Reference, Schema, SchemaType

NAME_CHARS_MAX = 2048
"""Of what a reference names."""


Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class ReferenceBody(msgspec.Struct):
    name: str
    subject: str
    version: Int32 = -1


class SchemaBody(msgspec.Struct, rename="camel"):
    """A schema to register, to look up, or to check."""

    schema: str | None = None
    schema_type: str | None = None
    references: list[ReferenceBody] | None = None
    metadata: dict[str, Any] | None = None
    rule_set: dict[str, Any] | None = None
    version: Int32 | None = None
    id: Int32 | None = None
    schema_tags_to_add: list[Any] | None = None
    schema_tags_to_remove: list[Any] | None = None

    def checked(self) -> Schema:
        """Raises RegistryError."""
        if self.schema_tags_to_add or self.schema_tags_to_remove:
            raise RegistryError(
                RegistryCode.UNPROCESSABLE,
                "This registry does not write tags into a schema (schemaTagsToAdd, schemaTagsToRemove). Send "
                "the tags in 'metadata', or in the text of the schema.",
            )
        try:
            kind = SchemaType((self.schema_type or SchemaType.AVRO).upper())
        except ValueError:
            known = ", ".join(SchemaType)
            raise _invalid(
                f"Invalid schema type {self.schema_type!r:.100}: known types are {known}"
            ) from None
        references = tuple(Reference(one.name, one.subject, one.version) for one in self.references or ())
        if any(max(len(one.name), len(one.subject)) > NAME_CHARS_MAX for one in references):
            raise _invalid(f"A reference has a name or a subject of more than {NAME_CHARS_MAX} characters")
        return Schema(
            kind,
            self.schema or "",
            references,
            sent_metadata(self.metadata),
            sent_rule_set(self.rule_set),
        )


class ModeBody(msgspec.Struct):
    mode: str | None = None


def _invalid(sentence: str) -> RegistryError:
    return RegistryError(RegistryCode.INVALID_SCHEMA, sentence)
