"""Tidelog in Apache Spark: the source, the sinks, and pipelines on top of them."""
