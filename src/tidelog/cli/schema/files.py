"""Schemas in files: their kind by name and content, and references as people write them."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.registry.schema import SchemaType

SUFFIXES = {SchemaType.AVRO: ".avsc", SchemaType.JSON: ".json", SchemaType.PROTOBUF: ".proto"}
AVRO_TYPES = ("record", "error", "enum", "fixed", "map", "bytes", "int", "long", "float", "double")
"""What `type` is in an Avro schema and never in a JSON Schema; the other words are in both."""

type_option = click.option(
    "--type",
    "kind",
    type=click.Choice([kind.value for kind in SchemaType], case_sensitive=False),
    help="The kind of schema. [default: by the file's name and content]",
)


class SchemaFile(NamedTuple):
    name: str
    """The path as it was given, or `-` for stdin."""
    type: SchemaType
    text: str


class WantedReference(NamedTuple):
    name: str
    subject: str
    version: int | None
    """None for the latest."""


def read_schema_file(name: str, kind: str | None = None) -> SchemaFile:
    """Raises CliError."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = data.decode("utf-8-sig")  # editors on Windows write a mark in front
    except OSError as error:
        raise CliError(f"{name} cannot be read: {error.strerror}.", code=Exit.NOT_FOUND) from error
    except UnicodeDecodeError:
        raise CliError(f"{name} is not UTF-8 text, as a schema is.", code=Exit.USAGE) from None
    return SchemaFile(name, SchemaType(kind.upper()) if kind else guess(name, text), text)


def guess(name: str, text: str) -> SchemaType:
    """The kind of a schema by its file's name, and where that is open by its content."""
    suffix = Path(name).suffix.lower()
    if suffix == ".proto":
        return SchemaType.PROTOBUF
    if suffix in (".avsc", ".avro"):
        return SchemaType.AVRO
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        if suffix == ".json":
            raise CliError(f"{name} is not JSON.", code=Exit.USAGE) from None
        return SchemaType.PROTOBUF
    return SchemaType.AVRO if _is_avro(content) else SchemaType.JSON


def _is_avro(content: object) -> bool:
    if isinstance(content, str | list):
        return True
    if not isinstance(content, dict) or any(name.startswith("$") for name in content):
        return False
    kind = content.get("type")
    if isinstance(kind, dict):
        return True
    # Of the words that both have, an array of Avro names its items' type, as a text or with a type inside.
    return kind in AVRO_TYPES or (kind == "array" and isinstance(content.get("items"), str | list))


def reference_of(text: str) -> WantedReference:
    """`NAME=SUBJECT`, `NAME=SUBJECT:3` or `NAME=SUBJECT:latest`."""
    name, equals, place = text.partition("=")
    subject, colon, version = place.rpartition(":")
    if not colon or not (version.isdigit() or version == "latest"):
        subject, version = place, "latest"  # a subject may hold colons of its own
    if not equals or not name or not subject:
        raise click.BadParameter(f"'{text}' is not NAME=SUBJECT:VERSION.")
    return WantedReference(name, subject, None if version == "latest" else int(version))


def expanded(paths: Iterable[str]) -> list[str]:
    """Files as they are; of a directory the schema files in it, at any depth."""
    found: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            inside = Path(path).rglob("*")
            found += sorted(str(file) for file in inside if file.suffix in SUFFIXES.values())
        else:
            found.append(path)
    return found
