"""What a Spark job can meet on its way to the brokers, as errors that say what to do next.

TidelogError
  OptionError          an option that is unknown, refused or wrong
  SecurityError        TLS or SASL that cannot be set up, or that the broker refused
  Disconnected         one connection failed; the cluster client tries others
    NoBroker           none could be reached, this time
  BrokersUnreachable   no broker answered within the time
  GaveUp               brokers answer, but what was asked did not succeed within the time
  NoSuchTopic          a topic that the query names does not exist, or not any more
  DataLoss             records that the query should have read are gone
"""

from tidelog.base.errors import TidelogError


class OptionError(TidelogError):
    """An option of the data source that cannot be accepted."""


class SecurityError(TidelogError):
    """TLS or SASL that cannot be set up, or that the broker refused. Trying again does not help."""


class Disconnected(TidelogError):
    """A connection that could not be opened, broke, or did not answer in time."""


class NoBroker(Disconnected):
    """None of the brokers that are known could be reached, this time."""


class BrokersUnreachable(TidelogError):
    """No broker answered within the time."""


class GaveUp(TidelogError):
    """Brokers answered, but what was asked did not succeed within the time."""


class NoSuchTopic(TidelogError):
    """A topic or partition that the query names does not exist, or not any more."""


class DataLoss(TidelogError):
    """Records that the query should have read are not there any more."""
