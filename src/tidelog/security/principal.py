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

BROKER_ITSELF = ""
"""Stands for the principal of requests that a broker makes on its own account, not for a client. It may do
everything. Authentication cannot give it to a connection, since every principal has a kind and a name."""


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
