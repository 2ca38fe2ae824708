"""A JSON Schema as columns: the DDL that Spark parses documents with, and whether two versions agree."""

from typing import Any

from tidelog.registry.schema import Dependencies
from tidelog.spark.values.registered.json_kinds import TEXT, ArrayOf, MapOf, columns_of
from tidelog.spark.values.registered.unreadable import UnreadableSchema


def ddl_of(text: str, dependencies: Dependencies = ()) -> str:
    """BadSchema says why the schema gives no columns."""
    fields = columns_of(text, dependencies)
    return ", ".join(f"{_quoted(name)} {_ddl(kind)}" for name, kind in fields.items())


def refuse_other_columns(reader: tuple[str, Dependencies], writer: tuple[str, Dependencies]) -> None:
    """Raises UnreadableSchema where a field of both is of another type in the one than in the other."""
    _compare(columns_of(*reader), columns_of(*writer), "")


def _compare(now: Any, before: Any, where: str) -> None:
    if isinstance(now, dict) and isinstance(before, dict):
        for name in now.keys() & before.keys():
            _compare(now[name], before[name], f"{where}.{name}" if where else name)
    elif isinstance(now, ArrayOf | MapOf) and type(now) is type(before):
        _compare(now.of, before.of, where)
    elif now not in (before, TEXT) and (before, now) != ("BIGINT", "DOUBLE"):
        raise UnreadableSchema(f"field {where} is {_ddl(now)} in the one and {_ddl(before)} in the other")


def _ddl(kind: Any) -> str:
    if isinstance(kind, ArrayOf):
        return f"ARRAY<{_ddl(kind.of)}>"
    if isinstance(kind, MapOf):
        return f"MAP<STRING, {_ddl(kind.of)}>"
    if isinstance(kind, dict):
        return f"STRUCT<{', '.join(f'{_quoted(name)}: {_ddl(inner)}' for name, inner in kind.items())}>"
    return str(kind)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
