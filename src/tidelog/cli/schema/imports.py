"""What a schema file refers to, and which of some other files it means: pure, by names alone.

Protobuf: import "common/money.proto"   a file whose path ends with that
Avro: the full name of a type           a file that defines a type of that name at its top
JSON Schema: "$ref": "address.json"     a file with that `$id`, or whose path ends with that
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.schema.files import SchemaFile
from tidelog.registry.schema import SchemaType

PRIMITIVES = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_IMPORT = re.compile(r"""\bimport\s+(?:public\s+|weak\s+)?["']([^"']+)["']\s*;""")
_BUILT_IN = ("google/protobuf/", "google/type/", "confluent/")


class NeededFile(NamedTuple):
    name: str
    """The reference's name, as the file before it writes it."""
    file: SchemaFile
    needs: tuple[str, ...]
    """The names of those that it refers to itself."""


def needed_files(
    file: SchemaFile, others: Sequence[SchemaFile], known: Iterable[str] = ()
) -> tuple[list[NeededFile], list[str]]:
    """The files that `file` refers to, each behind those that it refers to itself, and its own references.

    `known` are the names of references that are registered already.
    """
    made: dict[str, NeededFile] = {}
    under_way: list[str] = []
    skipped = set(known)

    def visit(one: SchemaFile) -> list[str]:
        names = []
        for name in references_in(one):
            if name in skipped:
                continue
            found = next((other for other in others if other != one and _means(name, other)), None)
            if found is None:
                continue
            names.append(name)
            if name in made:
                continue
            if name in under_way:
                raise CliError(
                    f"The schemas refer to each other in a circle: {' -> '.join([*under_way, name])}.",
                    code=Exit.USAGE,
                )
            under_way.append(name)
            made[name] = NeededFile(name, found, tuple(visit(found)))
            under_way.pop()
        return names

    own = visit(file)
    return list(made.values()), own


def references_in(file: SchemaFile) -> list[str]:
    """The names that a text refers to, as they are written, each once. None where it cannot be read."""
    if file.type is SchemaType.PROTOBUF:
        found = _IMPORT.findall(_COMMENT.sub(" ", file.text))
        return list(dict.fromkeys(name for name in found if not name.startswith(_BUILT_IN)))
    try:
        content = json.loads(file.text)
        if file.type is SchemaType.JSON:
            return list(dict.fromkeys(_json_references(content)))
        defined: set[str] = set()
        used = list(dict.fromkeys(_avro_names(content, "", defined)))
        return [name for name in used if name not in defined]
    except (ValueError, RecursionError):
        return []


def _means(name: str, other: SchemaFile) -> bool:
    if other.type is SchemaType.AVRO:
        return name == _avro_top(other.text)
    if other.type is SchemaType.JSON:
        try:
            content = json.loads(other.text)
        except (ValueError, RecursionError):
            return False
        if isinstance(content, dict) and content.get("$id", content.get("id")) == name:
            return True
    wanted, path = PurePath(name).parts, PurePath(other.name).parts
    return bool(wanted) and path[-len(wanted) :] == wanted


def _avro_top(text: str) -> str | None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _full_name(content, "")[0] if isinstance(content, dict) and "name" in content else None


def _full_name(content: Mapping[str, Any], namespace: str) -> tuple[str, str]:
    """The name with its namespace, and the namespace that holds inside."""
    name = str(content["name"])
    if "." in name:
        return name, name.rpartition(".")[0]
    inside = str(content.get("namespace", namespace) or "")
    return (f"{inside}.{name}" if inside else name), inside


def _avro_names(content: Any, namespace: str, defined: set[str]) -> Iterator[str]:
    if isinstance(content, str):
        if content not in PRIMITIVES:
            yield content if "." in content or not namespace else f"{namespace}.{content}"
    elif isinstance(content, list):
        for branch in content:
            yield from _avro_names(branch, namespace, defined)
    elif isinstance(content, dict):
        kind = content.get("type")
        if kind in ("record", "error", "enum", "fixed") and "name" in content:
            full, namespace = _full_name(content, namespace)
            defined.add(full)
            for field in content.get("fields") or ():
                if isinstance(field, dict):
                    yield from _avro_names(field.get("type"), namespace, defined)
        elif kind == "array":
            yield from _avro_names(content.get("items"), namespace, defined)
        elif kind == "map":
            yield from _avro_names(content.get("values"), namespace, defined)
        else:
            yield from _avro_names(kind, namespace, defined)


def _json_references(content: Any) -> Iterator[str]:
    if isinstance(content, list):
        for item in content:
            yield from _json_references(item)
    elif isinstance(content, dict):
        for name, value in content.items():
            if name == "$ref" and isinstance(value, str):
                if base := value.partition("#")[0]:
                    yield base
            else:
                yield from _json_references(value)
