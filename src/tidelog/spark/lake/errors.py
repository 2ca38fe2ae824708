"""What stops a write into a lake table, as errors that say what to do next.

TidelogError
  LakeError          the table cannot take this write
    SchemaMismatch   its columns and those of the data do not go together
    CommitConflict   another writer was faster; the commit is tried again on what it left
"""

from tidelog.base.errors import TidelogError


class LakeError(TidelogError):
    """The table cannot take this write."""


class SchemaMismatch(LakeError):
    """The columns of the table and those of the data do not go together."""


class CommitConflict(LakeError):
    """Another writer changed the table between our look at it and our commit."""
