"""What happens when records that a query should read are gone: it fails, or goes on with a warning."""

import logging

from tidelog.spark.errors import DataLoss

_log = logging.getLogger("tidelog.spark")

_ADVICE = (
    "Some data may have been lost, because it aged out or because a topic was deleted, cut or created again. "
    "To go on without it, set the option failOnDataLoss to false"
)


class LossReport:
    def __init__(self, *, fails: bool) -> None:
        self.fails = fails

    def report(self, what: str) -> None:
        """Returns only where the query is to go on."""
        if self.fails:
            raise DataLoss(f"{what}. {_ADVICE}.")
        _log.warning("%s. The query continues, since failOnDataLoss is false.", what)
