"""Which schema a record was written with, by its id, and what this means for a query with its reader schema.

    id                              newest of the subject       a version that was named
    newer than the reader           SchemaChanged               is read, or is a bad value
    older, and cannot be read       IncompatibleSchema          a bad value
    unknown, or of other subjects   a bad value                 a bad value

Where the reader changes while a query runs, a bad value must not depend on it: the query of the dead letters
judges each record for itself, perhaps earlier and with another reader, and a record could be in no place.
"""

import time
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.blocking.registry.lru import LruDict
from tidelog.registry.schema import Schema
from tidelog.spark.values.errors import BadSchema, BadValue
from tidelog.spark.values.registered.errors import IncompatibleSchema, SchemaChanged
from tidelog.spark.values.registered.reader import ReaderSchema, newest
from tidelog.spark.values.registered.unreadable import UnreadableSchema

REMEMBERED_MAX = 1000
BAD_S = 5.0
"""How long a bad id is not asked for again: a topic of other bytes is not a request a record."""

CONTEXT = ":."
"""Begins a subject outside of the default context, where ids have another meaning."""

Codec = TypeVar("Codec")


class _Bad(NamedTuple):
    reason: str
    until_s: float


class Writers(Generic[Codec]):
    """`resolve` makes what decodes a writer's values; it raises UnreadableSchema, or BadSchema."""

    def __init__(
        self,
        reader: ReaderSchema,
        client: RegistryClient,
        resolve: Callable[[Schema, int], Codec],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._client, self._resolve, self._now = reader, client, resolve, now
        self._known: LruDict[int, Codec] = LruDict(REMEMBERED_MAX)
        self._bad: LruDict[int, _Bad] = LruDict(REMEMBERED_MAX)

    def of(self, schema_id: int) -> Codec:
        """Raises BadValue, SchemaChanged, IncompatibleSchema, and what a client raises without a registry."""
        found = self._known.get(schema_id)
        if found is not None:
            return found
        bad = self._bad.get(schema_id)
        if bad is not None and self._now() < bad.until_s:
            raise BadValue(bad.reason)
        try:
            return self._known.put(schema_id, self._asked(schema_id))
        except BadValue as error:
            self._bad.put(schema_id, _Bad(str(error), self._now() + BAD_S))
            raise

    def _asked(self, schema_id: int) -> Codec:
        reader = self._reader
        if schema_id == reader.id:
            return self._resolve(reader.schema, schema_id)
        schema = self._schema(schema_id)
        version = self._version(schema_id)
        if version > reader.version and not reader.is_pinned:
            now = newest(self._client, reader.choice.subject)
            if now.version > reader.version:  # else the newer version was deleted
                raise SchemaChanged(
                    f"{reader.choice.subject} has version {now.version} after {reader.version}"
                )
        try:
            return self._resolve(schema, schema_id)
        except (UnreadableSchema, BadSchema) as error:
            said = f"{reader} cannot read records of version {version} (schema {schema_id}): {error}"
            if reader.is_pinned:
                raise BadValue(said) from error
            raise IncompatibleSchema(
                f"{said}. Name the version to read with, {reader.version} or another, under 'registry';"
                " then 'on_error' decides what becomes of records that it cannot read. Or start behind them"
            ) from error

    def _schema(self, schema_id: int) -> Schema:
        try:
            return self._client.schema(schema_id, subject=self._reader.choice.subject)
        except RegistryRefused as refusal:
            if refusal.is_not_found:
                raise BadValue(f"the schema registry has no schema {schema_id}") from refusal
            raise

    def _version(self, schema_id: int) -> int:
        """The newest version of the subject that is this schema."""
        wanted = self._reader.choice.subject
        within = wanted if wanted.startswith(CONTEXT) else None
        try:
            found = self._client.versions_of_id(schema_id, subject=within, deleted=True)
        except RegistryRefused as refusal:
            if refusal.is_not_found:
                raise BadValue(f"schema {schema_id} is not of the subject {wanted}") from refusal
            raise
        versions = [version for subject, version in found if subject == wanted]
        if not versions:
            others = ", ".join(sorted({subject for subject, _ in found})[:3]) or "none"
            raise BadValue(f"schema {schema_id} is not of the subject {wanted}; its subjects: {others}")
        return max(versions)
