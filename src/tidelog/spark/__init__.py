"""Tidelog in Apache Spark: the source, the sinks, and pipelines on top of them.

Names are loaded on first use: Spark imports this package in many short processes.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.spark.engine.session import SparkMissing as SparkMissing
    from tidelog.spark.engine.session import spark_session as spark_session
    from tidelog.spark.foreach_batch import each_batch as each_batch
    from tidelog.spark.pipeline.build import Build as Build
    from tidelog.spark.pipeline.faults import InvalidPipeline as InvalidPipeline
    from tidelog.spark.registered_values import decode_registered as decode_registered
    from tidelog.spark.values.errors import BadSchema as BadSchema

__all__ = [
    "BadSchema",
    "Build",
    "InvalidPipeline",
    "SparkMissing",
    "decode_registered",
    "each_batch",
    "spark_session",
]

_MODULE_OF = {
    "BadSchema": "values.errors",
    "decode_registered": "registered_values",
    "each_batch": "foreach_batch",
    "Build": "pipeline.build",
    "InvalidPipeline": "pipeline.faults",
    "SparkMissing": "engine.session",
    "spark_session": "engine.session",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
