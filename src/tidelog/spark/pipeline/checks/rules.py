"""Whether a condition in SQL can be a rule: true or not, and the same whenever a record is looked at.

The steps' query and that of the dead letters judge each record on their own. Were a rule to depend on chance
or the clock, a record could be in both places, or in none.
"""

from typing import TYPE_CHECKING, Any

from tidelog.base.errors import TidelogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class BadRule(TidelogError):
    """A condition that cannot be a rule."""


def refuse_rule(frame: "DataFrame", sql: str) -> None:
    """`frame` has the columns that the rule may name. Spark's own errors pass through."""
    from pyspark.sql.functions import expr
    from pyspark.sql.types import BooleanType

    [found] = frame.select(expr(sql)).schema.fields
    if not isinstance(found.dataType, BooleanType):
        kind = found.dataType.simpleString()
        raise BadRule(f"'{sql}' is of type {kind}, and a rule is a condition, such as 'cents > 0'")
    # On a frame of its own: decoding in Python is marked as not deterministic, for the optimizer's sake.
    alone = frame.sparkSession.createDataFrame([], frame.schema).where(sql)
    plan: Any = getattr(alone, "_jdf", None)
    if plan is None:  # by Spark Connect, which shows no plans
        return
    analyzed = plan.queryExecution().analyzed()
    java: Any = frame.sparkSession._jvm
    now = java.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    if not analyzed.deterministic() or analyzed.containsPattern(now):
        raise BadRule(
            f"'{sql}' may be true at one time and not at another, so that a record could be lost or be a dead"
            " letter too; compare with a column such as _timestamp instead of the clock"
        )
