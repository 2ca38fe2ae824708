"""The differences between two schemas: Confluent's names, which are incompatible, and its sentences.

A name that is in none of the lists is of a compatible difference: MAXIMUM_REMOVED,
OPTIONAL_PROPERTY_ADDED_TO_...
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from tidelog.registry.json_schema.paths import Path, shown
from tidelog.registry.parsed import READER, WRITER, Incompatibility

_SENTENCES: Final = {
    f"The keyword at path '%s' in the {READER} schema is not present in the {WRITER} schema": """
        MAXIMUM_ADDED MINIMUM_ADDED EXCLUSIVE_MAXIMUM_ADDED EXCLUSIVE_MINIMUM_ADDED MULTIPLE_OF_ADDED
        MAX_LENGTH_ADDED MIN_LENGTH_ADDED PATTERN_ADDED REQUIRED_ATTRIBUTE_ADDED MAX_PROPERTIES_ADDED
        MIN_PROPERTIES_ADDED DEPENDENCY_ARRAY_ADDED DEPENDENCY_SCHEMA_ADDED MAX_ITEMS_ADDED MIN_ITEMS_ADDED
        MAX_CONTAINS_ADDED MIN_CONTAINS_ADDED UNIQUE_ITEMS_ADDED ADDITIONAL_ITEMS_REMOVED
        ADDITIONAL_PROPERTIES_REMOVED UNEVALUATED_PROPERTIES_REMOVED UNEVALUATED_ITEMS_REMOVED
        SCHEMA_ADDED""",
    f"The value at path '%s' in the {READER} schema is more than its value in the {WRITER} schema": """
        MIN_LENGTH_INCREASED MINIMUM_INCREASED EXCLUSIVE_MINIMUM_INCREASED MIN_PROPERTIES_INCREASED
        MULTIPLE_OF_EXPANDED MIN_ITEMS_INCREASED MIN_CONTAINS_INCREASED""",
    f"The value at path '%s' in the {READER} schema is less than its value in the {WRITER} schema": """
        MAX_LENGTH_DECREASED MAXIMUM_DECREASED MAX_ITEMS_DECREASED MAX_CONTAINS_DECREASED
        EXCLUSIVE_MAXIMUM_DECREASED MAX_PROPERTIES_DECREASED""",
    f"The value at path '%s' is different between the {READER} and {WRITER} schema": """
        PATTERN_CHANGED MULTIPLE_OF_CHANGED DEPENDENCY_ARRAY_CHANGED""",
    "An array or combined type at path '%s' has fewer elements "
    f"in the {READER} schema than the {WRITER} schema": """
        ADDITIONAL_ITEMS_NARROWED ENUM_ARRAY_NARROWED SUM_TYPE_NARROWED ADDITIONAL_PROPERTIES_NARROWED
        UNEVALUATED_PROPERTIES_NARROWED UNEVALUATED_ITEMS_NARROWED""",
    "An array or combined type at path '%s' has more elements "
    f"in the {READER} schema than the {WRITER} schema": """
        DEPENDENCY_ARRAY_EXTENDED PRODUCT_TYPE_EXTENDED NOT_TYPE_EXTENDED""",
    f"A type at path '%s' is different between the {READER} schema and the {WRITER} schema": """
        TYPE_CHANGED TYPE_NARROWED COMBINED_TYPE_CHANGED COMBINED_TYPE_SUBSCHEMAS_CHANGED
        ENUM_ARRAY_CHANGED""",
    f"The {READER} schema has an open content model and has a property or item at path '%s' "
    f"which is missing in the {WRITER} schema": """
        REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL
        REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL ITEM_ADDED_TO_OPEN_CONTENT_MODEL""",
    f"The {READER} schema has an unopen content model and has a required property at path '%s' "
    f"which is missing in the {WRITER} schema": """
        REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL""",
    f"The {READER} schema has a closed content model and is missing a property or item present at path '%s' "
    f"in the {WRITER} schema": """
        PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL""",
    f"A property or item is missing in the {READER} schema but present at path '%s' in the {WRITER} schema "
    "and is not covered by its partially open content model": """
        PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL""",
    f"The {READER} schema has a property or item at path '%s' which is missing in the {WRITER} schema "
    "and is not covered by its partially open content model": """
        PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
        ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL""",
}
INCOMPATIBLE: Final = {kind: sentence for sentence, kinds in _SENTENCES.items() for kind in kinds.split()}

_TOLERATED: Final = """
    ADDITIONAL_PROPERTIES_NARROWED ADDITIONAL_PROPERTIES_REMOVED UNEVALUATED_PROPERTIES_NARROWED
    UNEVALUATED_PROPERTIES_REMOVED OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL
    REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_OPEN_CONTENT_MODEL PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL
    PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL
    PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL"""
LENIENT: Final[frozenset[str]] = frozenset(_TOLERATED.split())
"""What the policy LENIENT takes for compatible: properties come and go as if old records had no others."""

STRICT: Final[frozenset[str]] = frozenset()

DIFFERENCES_MAX: Final = 200
"""Of one comparison. A schema that repeats a definition could have more of them than fit in memory."""

ENTRIES_MAX: Final = 50_000
"""Entries that are followed to name differences: enough for 200 of them, 250 levels deep. Beyond that
many, the first difference is enough: a long line of definitions could be followed again for each one."""

Steps: TypeAlias = tuple[str | int, ...]
"""From a schema to one inside it: a keyword, and perhaps a name or an index."""


class Difference(NamedTuple):
    kind: str
    path: str
    """From the schemas that were compared, without a slash at its begin; "" is these schemas themselves."""

    def described(self) -> Incompatibility:
        return Incompatibility(self.kind, INCOMPATIBLE[self.kind] % f"#/{self.path}")


class Entry(NamedTuple):
    """A kind of difference, or what a comparison of inner schemas found, which lie at the steps."""

    found: "str | Outcome"
    steps: Steps
    is_incompatible: bool


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a comparison of two schemas found. It refers to the outcomes of inner schemas, which many share:
    differences with their paths come into being when they are asked for."""

    is_compatible: bool
    entries: tuple[Entry, ...] = ()
    has_one_reason: bool = False
    """The first reason is enough, also of inner schemas."""

    @property
    def differences(self) -> list[Difference]:
        return list(islice(self._walk(lambda entry: True), DIFFERENCES_MAX))

    def incompatible(self) -> list[Difference]:
        return list(islice(self._walk(lambda entry: entry.is_incompatible), DIFFERENCES_MAX))

    def _walk(self, counts: Callable[[Entry], bool]) -> Iterator[Difference]:
        """Walks with a stack of its own: schemas that refer to each other can be deep."""
        inside: list[tuple[Iterator[Entry], Path, bool]] = [(iter(self.entries), None, self.has_one_reason)]
        followed, is_any_named = 0, False
        while inside and not (is_any_named and followed > ENTRIES_MAX):
            entries, path, has_one_reason = inside[-1]
            entry = next((entry for entry in entries if counts(entry)), None)
            if entry is None or has_one_reason:
                inside.pop()
            if entry is None:
                continue
            followed += 1
            here = (path, entry.steps) if entry.steps else path
            if isinstance(entry.found, Outcome):
                inner = entry.found
                inside.append((iter(inner.entries), here, has_one_reason or inner.has_one_reason))
            else:
                is_any_named = True
                yield Difference(entry.found, shown(here))


SAME: Final = Outcome(True)


def one_reason(outcome: Outcome) -> Outcome:
    """Returns an outcome that is incompatible, with its first reason alone."""
    reason = next(entry for entry in outcome.entries if entry.is_incompatible)
    return Outcome(False, (reason,), has_one_reason=True)
