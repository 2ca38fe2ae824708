"""Principals: the name under which a connection acts, such as `User:alice`."""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError

USER = "User"
WILDCARD = "*"


class Principal(NamedTuple):
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""The principal of a connection on a listener without authentication."""

EVERYONE = Principal(USER, WILDCARD)
"""In an ACL: every principal of the kind `User`."""


def parse_principal(text: str) -> Principal:
    """Read `User:alice`. Raises KafkaError with INVALID_PRINCIPAL_TYPE for anything else."""
    kind, colon, name = text.partition(":")
    if not kind or not colon or not name:
        raise KafkaError(
            ErrorCode.INVALID_PRINCIPAL_TYPE,
            f"{text!r} is not a principal. Write its kind and its name with a colon between them, "
            "such as User:alice.",
        )
    return Principal(kind, name)
