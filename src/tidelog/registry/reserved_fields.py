"""Names that a schema's metadata keep free: no field has them, and the next version keeps them, too.

Checked under the setting `validateFields`, with Confluent's sentences.
"""

from typing import NamedTuple

from tidelog.registry.schema import JsonObject

RESERVED_PROPERTY = "confluent:reserved"


class Reserved(NamedTuple):
    """Names that are reserved by a schema, and by the version before it."""

    now: tuple[str, ...]
    before: tuple[str, ...]

    def problems(self, fields: frozenset[str]) -> list[str]:
        """`fields`: those of the schema that are not inside of others."""
        gone = [name for name in self.before if name not in self.now]
        taken = [name for name in self.now if name in fields]
        return [
            *(
                f"The new schema has reserved field {name} removed from its metadata which is present in the "
                "old schema's metadata."
                for name in gone
            ),
            *(f"The new schema has field that conflicts with the reserved field {name}." for name in taken),
        ]


def reserved_names(metadata: JsonObject | None) -> tuple[str, ...]:
    """Returns the names of the property, which has commas between them."""
    text = ((metadata or {}).get("properties") or {}).get(RESERVED_PROPERTY) or ""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
