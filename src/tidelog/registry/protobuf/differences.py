"""The differences between two Protobuf schemas: Confluent's names, its sentences, and which break readers."""

from enum import StrEnum
from typing import NamedTuple

from tidelog.registry.parsed import READER, WRITER, Incompatibility


class Change(StrEnum):
    PACKAGE_CHANGED = "PACKAGE_CHANGED"
    MESSAGE_ADDED = "MESSAGE_ADDED"
    MESSAGE_REMOVED = "MESSAGE_REMOVED"
    MESSAGE_MOVED = "MESSAGE_MOVED"
    ENUM_ADDED = "ENUM_ADDED"
    ENUM_REMOVED = "ENUM_REMOVED"
    ENUM_CONST_ADDED = "ENUM_CONST_ADDED"
    ENUM_CONST_CHANGED = "ENUM_CONST_CHANGED"
    ENUM_CONST_REMOVED = "ENUM_CONST_REMOVED"
    FIELD_ADDED = "FIELD_ADDED"
    FIELD_REMOVED = "FIELD_REMOVED"
    FIELD_NAME_CHANGED = "FIELD_NAME_CHANGED"
    FIELD_KIND_CHANGED = "FIELD_KIND_CHANGED"
    FIELD_SCALAR_KIND_CHANGED = "FIELD_SCALAR_KIND_CHANGED"
    FIELD_NAMED_TYPE_CHANGED = "FIELD_NAMED_TYPE_CHANGED"
    FIELD_NUMERIC_LABEL_CHANGED = "FIELD_NUMERIC_LABEL_CHANGED"
    FIELD_STRING_OR_BYTES_LABEL_CHANGED = "FIELD_STRING_OR_BYTES_LABEL_CHANGED"
    REQUIRED_FIELD_ADDED = "REQUIRED_FIELD_ADDED"
    REQUIRED_FIELD_REMOVED = "REQUIRED_FIELD_REMOVED"
    ONEOF_ADDED = "ONEOF_ADDED"
    ONEOF_REMOVED = "ONEOF_REMOVED"
    ONEOF_FIELD_ADDED = "ONEOF_FIELD_ADDED"
    ONEOF_FIELD_REMOVED = "ONEOF_FIELD_REMOVED"
    ONEOF_FIELD_MOVED_TO_TOP_LEVEL = "ONEOF_FIELD_MOVED_TO_TOP_LEVEL"
    MULTIPLE_FIELDS_MOVED_TO_ONEOF = "MULTIPLE_FIELDS_MOVED_TO_ONEOF"
    FIELD_MOVED_TO_EXISTING_ONEOF = "FIELD_MOVED_TO_EXISTING_ONEOF"


_SENTENCES = {
    Change.PACKAGE_CHANGED: "The package at '%p' in the %r schema does not match the "
    "package in the %w schema",
    Change.MESSAGE_REMOVED: "The %r schema is missing a MESSAGE type at path '%p' in the %w schema",
    Change.FIELD_KIND_CHANGED: "The type of a field at path '%p' in the %r schema does not match "
    "the %w schema",
    Change.FIELD_SCALAR_KIND_CHANGED: "The kind of a SCALAR field at path '%p' in the %r schema does not "
    "match its kind in the %w schema",
    Change.FIELD_NAMED_TYPE_CHANGED: "The type of a MESSAGE field at path '%p' in the %r schema does not "
    "match its type in the %w schema",
    Change.FIELD_NUMERIC_LABEL_CHANGED: "The label for a NUMERIC field at path '%p' in the %r schema does "
    "not match its label in the %w schema",
    Change.REQUIRED_FIELD_ADDED: "A required field  at path '%p' in the %r schema is missing in the "
    "%w schema",
    Change.REQUIRED_FIELD_REMOVED: "The %r schema is missing a required field at path: '%p' in the %w schema",
    Change.ONEOF_FIELD_REMOVED: "The %r schema is missing a oneof field at path '%p' in the %w schema",
    Change.MULTIPLE_FIELDS_MOVED_TO_ONEOF: "Multiple fields in the oneof at path '%p' in the %r schema "
    "are outside a oneof in the %w schema",
    Change.FIELD_MOVED_TO_EXISTING_ONEOF: "A field in the oneof at path '%p' in the %r schema is outside "
    "an existing oneof in the %w schema",
}
"""Of the changes that break readers; all others are compatible."""


DIFFERENCES_MAX = 200
"""Of one comparison, that are named. A file has room for 100,000 fields."""


class Difference(NamedTuple):
    change: Change
    steps: tuple[str, ...]

    @property
    def path(self) -> str:
        """Is made for a message alone: most differences are never shown."""
        return "#/" + "/".join(self.steps)

    @property
    def is_compatible(self) -> bool:
        return self.change not in _SENTENCES

    def incompatibility(self) -> Incompatibility:
        sentence = _SENTENCES[self.change].replace("%r", READER).replace("%w", WRITER)
        return Incompatibility(self.change, sentence.replace("%p", self.path))
