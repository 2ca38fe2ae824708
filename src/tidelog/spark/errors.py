"""What a Spark job can meet besides the errors of `tidelog.blocking.errors`; each says what to do next.

TidelogError
  OptionError   an option that is unknown, refused or wrong
  DataLoss      records that the query should have read are gone
"""

from tidelog.base.errors import TidelogError


class OptionError(TidelogError):
    """An option of the data source that cannot be accepted."""


class DataLoss(TidelogError):
    """Records that the query should have read are gone."""
