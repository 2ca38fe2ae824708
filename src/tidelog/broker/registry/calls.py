"""A call of the registry's REST API and its answer, as plain data: both may travel between two brokers.

The HTTP port has refused already what is wrong with any call: a path that does not exist, a method or a
content type that it does not take, a body that is too long, a client that is not authenticated.
"""

from typing import NamedTuple

ANONYMOUS = "User:ANONYMOUS"

JUDGE = "JUDGE"
"""A method that no client can call: a broker asks whether records name the right schemas."""

V1_JSON = "application/vnd.schemaregistry.v1+json"
DEFAULT_JSON = "application/vnd.schemaregistry+json"
JSON = "application/json"


class Call(NamedTuple):
    method: str
    """GET, POST, PUT or DELETE. A HEAD is a GET whose body the port leaves out."""
    path: str
    """As it came, percent-encoded: a subject may hold a slash."""
    query: str = ""
    """As it came, without the question mark."""
    body: bytes = b""
    principal: str = ANONYMOUS
    host: str = ""
    """Of the client; ACLs and the audit name it."""


class Answer(NamedTuple):
    status: int
    body: bytes
    """JSON, of whichever of the content types the client accepts. Empty with status 204."""
