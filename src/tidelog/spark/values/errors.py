"""What can be wrong about decoding: the schema, found before anything runs, or one value among many."""

from tidelog.base.errors import TidelogError


class BadSchema(TidelogError):
    """A schema that cannot be read, or that says what Spark has no type for."""


class BadValue(TidelogError):
    """One record's value that does not decode; the message is the reason, without the place."""
