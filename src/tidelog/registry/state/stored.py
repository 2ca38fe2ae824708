"""A version of a subject, as the state holds it."""

from dataclasses import dataclass
from typing import NamedTuple

from tidelog.registry.content import guid_of
from tidelog.registry.schema import Schema


class Place(NamedTuple):
    """Where a schema is registered. The subject has its context."""

    subject: str
    version: int


@dataclass(slots=True)
class StoredVersion:
    subject: str
    version: int
    id: int
    schema: Schema
    deleted: bool
    """Soft-deleted: hidden, but its id still resolves."""
    content: bytes
    """The hash of the schema; see `registry/content.py`."""

    @property
    def place(self) -> Place:
        return Place(self.subject, self.version)

    @property
    def guid(self) -> str:
        return guid_of(self.content)
