"""A schema for JSON from sample documents: the types that hold all of them, as a DDL text.

Text that is an ISO time in every document becomes a timestamp. A field that is missing or null somewhere
only says so by being nullable, as every field is.
"""

import json
import re
from typing import Any, NamedTuple

from tidelog.spark.values.errors import BadSchema

MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?$")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")
WIDER = {("BIGINT", "DOUBLE"): "DOUBLE", ("STRING", "TIMESTAMP"): "STRING"}


class Record(NamedTuple):
    fields: dict[str, "Kind | None"]


class Items(NamedTuple):
    of: "Kind | None"


Kind = Record | Items | str


def schema_of_samples(text: str) -> str:
    """The DDL for documents in `text`: one a line, or one JSON array of them."""
    documents = _documents(text)
    if not documents:
        raise BadSchema("the sample holds no JSON document")
    kind: Kind | None = None
    for document in documents:
        if not isinstance(document, dict):
            raise BadSchema(
                f"the sample holds {type(document).__name__}, and each document has to be an object"
            )
        kind = _both(kind, _kind(document), "the document")
    if not isinstance(kind, Record) or not kind.fields:
        raise BadSchema("the sample's documents have no fields")
    return ", ".join(f"{_name(name)} {_ddl(inner)}" for name, inner in kind.fields.items())


def _documents(text: str) -> list[Any]:
    try:
        if text.lstrip().startswith("["):
            return list(json.loads(text))
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise BadSchema(f"the sample is not JSON, one document a line: {error}") from error


def _kind(value: Any) -> Kind | None:
    match value:
        case None:
            return None
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT"
        case float():
            return "DOUBLE"
        case str():
            return "TIMESTAMP" if MOMENT.match(value) else "STRING"
        case list():
            inner: Kind | None = None
            for item in value:
                inner = _both(inner, _kind(item), "an array")
            return Items(inner)
        case _:
            return Record({name: _kind(inner) for name, inner in value.items()})


def _both(one: Kind | None, other: Kind | None, where: str) -> Kind | None:
    if one is None or other is None or one == other:
        return other if one is None else one
    if isinstance(one, Record) and isinstance(other, Record):
        names = [*one.fields, *(name for name in other.fields if name not in one.fields)]
        return Record({name: _both(one.fields.get(name), other.fields.get(name), name) for name in names})
    if isinstance(one, Items) and isinstance(other, Items):
        return Items(_both(one.of, other.of, where))
    if isinstance(one, str) and isinstance(other, str):
        low, high = sorted((one, other))
        if (low, high) in WIDER:
            return WIDER[low, high]
    raise BadSchema(
        f"in the sample, {where} is {_ddl(one)} here and {_ddl(other)} there; write a schema instead"
    )


def _ddl(kind: Kind | None) -> str:
    match kind:
        case None:
            return "STRING"  # null in every document: nothing is known, and text holds anything
        case Items():
            return f"ARRAY<{_ddl(kind.of)}>"
        case Record():
            inside = ", ".join(f"{_name(name)}: {_ddl(inner)}" for name, inner in kind.fields.items())
            return f"STRUCT<{inside}>"
        case _:
            return kind


def _name(name: str) -> str:
    return name if PLAIN_NAME.match(name) else "`" + name.replace("`", "``") + "`"
