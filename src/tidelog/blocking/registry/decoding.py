"""Keys and values of records as Python values, by the schema ids that they carry.

An id that the registry does not know is remembered for a moment, so that a topic of other bytes does not
become a request a record.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tidelog.blocking.registry.client import RegistryClient
from tidelog.blocking.registry.codecs import Codec, codec_of
from tidelog.blocking.registry.errors import RegistryRefused, UndecodableRecord
from tidelog.blocking.registry.framing import SchemaKey, framed
from tidelog.blocking.registry.lru import LruDict
from tidelog.registry.parsed import SchemaError
from tidelog.registry.schema import Schema

UNKNOWN_S = 5.0
"""How long an unknown id is not asked for again: another broker may have registered it a moment ago."""
CODECS_MAX = 1000


class Decoded(NamedTuple):
    value: Any
    schema_key: SchemaKey
    schema: Schema


class _Known(NamedTuple):
    schema: Schema
    codec: Codec


class _Unusable(NamedTuple):
    reason: str
    until: float


class RecordDecoder:
    def __init__(
        self,
        client: RegistryClient,
        *,
        subject: str | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`subject` names the context of the ids, where it is not the default."""
        self.client = client
        self._subject = subject
        self._now = now
        self._known: LruDict[SchemaKey, _Known | _Unusable] = LruDict(CODECS_MAX)

    def decode(
        self, data: bytes, *, headers: Iterable[tuple[str, bytes | None]] = (), is_key: bool = False
    ) -> Decoded | None:
        """Returns None where the data names no schema.

        Raises UndecodableRecord, PackageMissing, and what a client raises where no registry answers.
        """
        found = framed(data, headers, is_key=is_key)
        if found is None:
            return None
        known = self._of(found.schema)
        return Decoded(known.codec.decode(found), found.schema, known.schema)

    def _of(self, key: SchemaKey) -> _Known:
        known = self._known.get(key)
        if isinstance(known, _Unusable) and known.until <= self._now():
            known = None
        if known is None:
            known = self._known.put(key, self._asked(key))
        if isinstance(known, _Unusable):
            raise UndecodableRecord(known.reason)
        return known

    def _asked(self, key: SchemaKey) -> _Known | _Unusable:
        try:
            schema = self.client.schema(key, subject=self._subject)
            return _Known(schema, codec_of(schema, self.client.dependencies(schema, self._subject)))
        except RegistryRefused as refusal:
            # Registries of before know no GUIDs. Nor need there be one: other data begin with that byte, too.
            has_no_guids = refusal.is_other_path and isinstance(key, str)
            if not (refusal.is_not_found or has_no_guids):
                raise
            return _Unusable(f"the registry has no schema {key}", self._now() + UNKNOWN_S)
        except SchemaError as error:
            return _Unusable(f"schema {key} cannot be used: {error}", self._now() + UNKNOWN_S)
