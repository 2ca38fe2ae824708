"""What Spark refuses only when a query starts, asked beforehand: which output modes a plan may have.

A run makes topics and claims a checkpoint before it starts queries, and a validation starts none.
"""

from typing import TYPE_CHECKING, Any

from tidelog.base.errors import TidelogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class NoStream(TidelogError):
    """A frame that is made from files alone."""


def refuse_unsupported(frame: "DataFrame", mode: str) -> None:
    """Raises what `start` would raise."""
    if not frame.isStreaming:
        raise NoStream("it is not made from a stream, so nothing would ever come")
    plan: Any = getattr(frame, "_jdf", None)
    if plan is None:
        _try_to_start(frame, mode)
        return
    java: Any = frame.sparkSession._jvm
    output_mode = getattr(java.org.apache.spark.sql.streaming.OutputMode, mode.capitalize())()
    checker = java.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    checker.checkForStreaming(plan.queryExecution().analyzed(), output_mode)


def _try_to_start(frame: "DataFrame", mode: str) -> None:
    """By Spark Connect, whose server alone has the plan: a query to nowhere, stopped before it reads."""
    frame.writeStream.format("noop").outputMode(mode).start().stop()
