"""Names of Avro: a simple name within a namespace.

A namespace is taken as it is written, as Java took it up to Avro 1.11: there are schemas with a `-` in it.
"""

from typing import NamedTuple

from tidelog.registry.avro.limits import NAME_CHARS_MAX
from tidelog.registry.parsed import SchemaError

TYPE_NAMES = frozenset(
    {
        *("record", "enum", "array", "map", "union", "fixed"),
        *("string", "bytes", "int", "long", "float", "double", "boolean", "null"),
    }
)


class Name(NamedTuple):
    simple: str
    namespace: str | None

    @property
    def full(self) -> str:
        return self.simple if self.namespace is None else f"{self.namespace}.{self.simple}"

    def within(self, namespace: str | None) -> str:
        """Returns the shortest text that means this name in a namespace."""
        if self.namespace is not None and self.namespace == namespace and self.simple not in TYPE_NAMES:
            return self.simple
        return self.full


def name_of(text: str, namespace: str | None) -> Name:
    """Returns what a name in a text means: with a dot it says its namespace itself."""
    before, dot, simple = text.rpartition(".")
    check_name(simple)
    return _within_limit(Name(simple, (before if dot else namespace) or None))


def _within_limit(name: Name) -> Name:
    if len(name.simple) + len(name.namespace or "") > NAME_CHARS_MAX:
        raise SchemaError(
            f'The name "{shown(name.full)}" has more than {NAME_CHARS_MAX} characters: shorten it.'
        )
    return name


def check_name(name: str) -> None:
    """Letters of any script, digits and underscores, as Java's parser takes them."""
    if not name:
        raise SchemaError("A name is empty. Give every type, field and symbol a name.")
    if not all(_is_letter(character) or character.isdecimal() for character in name):
        raise SchemaError(
            f'The name "{shown(name)}" has an illegal character: use letters, digits and underscores.'
        )
    if not _is_letter(name[0]):
        raise SchemaError(
            f'The name "{shown(name)}" begins with an illegal character: use a letter or an underscore.'
        )


def shown(text: str, chars_max: int = 200) -> str:
    """Returns the begin of a long text, for messages."""
    return text if len(text) <= chars_max else f"{text[:chars_max]}..."


def _is_letter(character: str) -> bool:
    return character == "_" or character.isalpha()
