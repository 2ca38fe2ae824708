"""Names of resources as people write them: literal, or with a `*` at the end for a prefix.

`orders` is that name alone. `orders.*` is every name that begins with `orders.`: the dot is a dot, the star
stands for the rest. `*` alone is every name. Nothing else is a wildcard; what looks like one is refused,
since it would be taken literally and protect nothing.
"""

import click

from tidelog.security.acls.acl import WILDCARD
from tidelog.security.acls.vocabulary import PatternType

Pattern = tuple[PatternType, str]

SUSPICIOUS = frozenset("*?[]{}()|^$+\\,")
"""Characters of regular expressions, globs and lists, which no topic's name can have."""


def parse_pattern(text: str) -> Pattern:
    """Raises ValueError for wildcards other than a `*` at the end."""
    if text == WILDCARD:
        return PatternType.LITERAL, WILDCARD
    is_prefix = text.endswith(WILDCARD)
    name = text.removesuffix(WILDCARD)
    odd = sorted(SUSPICIOUS.intersection(name))
    if odd:
        raise ValueError(
            f"'{text}' has {' and '.join(odd)}. A name is literal, or a prefix with one * at its end: "
            "orders, orders.*; and * alone is every name. There are no other wildcards."
        )
    if not name:
        raise ValueError("A name is missing.")
    return (PatternType.PREFIXED if is_prefix else PatternType.LITERAL), name


def pattern_text(pattern: PatternType, name: str) -> str:
    """As `parse_pattern` reads it."""
    return f"{name}{WILDCARD}" if pattern is PatternType.PREFIXED else name


def pattern_words(pattern: PatternType, name: str) -> str:
    """In words that leave no doubt: `every name`, `'orders' only`, `names that begin with 'orders.'`."""
    if pattern is PatternType.PREFIXED:
        return f"names that begin with '{name}'"
    return "every name" if name == WILDCARD else f"'{name}' only"


class PatternParameter(click.ParamType[Pattern]):
    name = "pattern"

    def convert(self, value: object, parameter: click.Parameter | None, ctx: click.Context | None) -> Pattern:
        try:
            return parse_pattern(str(value))
        except ValueError as error:
            self.fail(str(error), parameter, ctx)
