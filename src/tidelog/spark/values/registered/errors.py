"""What stops a query because of schemas, unlike a bad value, which concerns one record.

A query that stops loses nothing: its checkpoint is as it was after the last whole batch.
"""

from tidelog.base.errors import TidelogError


class SchemaChanged(TidelogError):
    """A record has a newer version of the subject than the query reads with. The query starts again."""


class IncompatibleSchema(TidelogError):
    """A record has a version of the subject that the version which the query reads with cannot read."""
