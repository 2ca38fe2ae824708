"""Where Spark looks for `format("tidelog")`: every module named pyspark_… that has a DefaultSource."""

from tidelog.spark.data_source import TidelogDataSource as DefaultSource

__all__ = ["DefaultSource"]
