"""What bounds the work that one schema, or one comparison of two, can cause.

Java's parser and its comparison have no such limits, and overflow their stack instead. The limits are far
above what people write: they are there for texts that are made to be expensive.
"""

from tidelog.registry.parsed import SchemaError

NESTING_MAX = 120
"""Levels of types within types, as the text writes them and as the canonical text does."""

STEPS_MAX = 2_000_000
"""Pairs of types that one comparison looks at, and pairs of a type and a value that the defaults of one
schema need: a few seconds."""

NAME_CHARS_MAX = 1000
"""Of a name with its namespace, which a schema may repeat in many places."""

PATH_STEPS_MAX = 1000
"""Steps of a path that a difference names."""

DIFFERENCES_MAX = 200
"""Differences that a comparison names. There may be more."""

MESSAGE_CHARS_MAX = 1000
"""Of the names that a difference shows: a field's, or those of the symbols that are missing."""

ALIASES_CHARS_MAX = 1_000_000
"""Of the aliases of one type with their namespaces, by which a normalized text has them in order."""


class Steps:
    """Counts steps, and raises SchemaError after too many."""

    def __init__(self, purpose: str) -> None:
        self._left = STEPS_MAX
        self._purpose = purpose

    def take(self, count: int = 1) -> None:
        self._left -= count
        if self._left < 0:
            raise SchemaError(
                f"{self._purpose} takes more than {STEPS_MAX:,} steps, since types with many parts meet each "
                "other. Split the schema into smaller schemas."
            )


def check_nesting(levels: int) -> None:
    if levels > NESTING_MAX:
        raise SchemaError(
            f"The types of the schema are nested in more than {NESTING_MAX} levels. Use fewer levels: a type "
            "can refer to another by its name."
        )
