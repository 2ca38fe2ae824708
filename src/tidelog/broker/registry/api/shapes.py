"""Versions and settings in the JSON of Confluent's API. What is empty is left out."""

from collections.abc import Mapping
from typing import Any

from tidelog.registry import config as settings
from tidelog.registry.state.stored import StoredVersion


def version_shape(stored: StoredVersion, text: str | None = None) -> dict[str, Any]:
    """`text`: the schema in the format that the client asked for."""
    place = {"subject": stored.subject, "version": stored.version, "id": stored.id}
    return {**place, **schema_shape(stored, text)}


def schema_shape(stored: StoredVersion, text: str | None = None) -> dict[str, Any]:
    """A schema without its place: it may have several."""
    schema = stored.schema
    shape: dict[str, Any] = {"guid": stored.guid, "schemaType": schema.type}
    if schema.references:
        shape["references"] = [reference._asdict() for reference in schema.references]
    if schema.metadata is not None:
        shape["metadata"] = schema.metadata
    if schema.rule_set is not None:
        shape["ruleSet"] = schema.rule_set
    shape["schema"] = schema.text if text is None else text
    if stored.deleted:
        shape["deleted"] = True
    return shape


def updated_config_shape(config: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an update: its level has another name there."""
    return {"compatibility" if name == settings.LEVEL else name: value for name, value in config.items()}
