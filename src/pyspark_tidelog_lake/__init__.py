"""Found by PySpark by its name, so that `format("tidelog_lake")` works with nothing to register."""

from tidelog.spark.lake.sink import LakeSource as DefaultSource

__all__ = ["DefaultSource"]
