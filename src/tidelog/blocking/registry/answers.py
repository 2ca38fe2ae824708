"""What a registry answers, as values: schemas, versions of subjects, compatibility."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidelog.blocking.registry.errors import NotARegistry
from tidelog.registry.schema import Reference, Schema, SchemaType


class Version(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema
    guid: str | None = None


class Compatibility(NamedTuple):
    is_compatible: bool
    messages: tuple[str, ...] = ()


class SubjectVersion(NamedTuple):
    subject: str
    version: int


def schema_of(body: Any) -> Schema:
    """A schema by id or GUID: without a type it is Avro."""
    fields = _object(body, "schema")
    references = fields.get("references") or ()
    return Schema(
        SchemaType(fields.get("schemaType") or "AVRO"),
        fields["schema"],
        tuple(Reference(one["name"], one["subject"], one["version"]) for one in references),
        fields.get("metadata") or None,
        fields.get("ruleSet") or None,
    )


def version_of(body: Any) -> Version:
    fields = _object(body, "version")
    return Version(fields["subject"], fields["version"], fields["id"], schema_of(fields), fields.get("guid"))


def body_of(schema: Schema) -> dict[str, Any]:
    """What a registration sends."""
    body: dict[str, Any] = {"schema": schema.text, "schemaType": schema.type.value}
    if schema.references:
        body["references"] = [reference._asdict() for reference in schema.references]
    if schema.metadata is not None:
        body["metadata"] = schema.metadata
    if schema.rule_set is not None:
        body["ruleSet"] = schema.rule_set
    return body


def _object(body: Any, wanted: str) -> Mapping[str, Any]:
    if isinstance(body, dict) and "schema" in body:
        return body
    raise NotARegistry(f"the answer has no {wanted} in it: {str(body)[:200]}; check the registry's URL")
