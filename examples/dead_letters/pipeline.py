"""Readings as averages of ten seconds; what cannot be read goes to a topic of its own, with the reason.

The same could be a YAML file; this one is a Python function, for those who prefer DataFrames.
"""

from pyspark.sql.functions import avg, col, count, round, window

from tidelog.spark import Build


def dead_letters(p: Build) -> None:
    readings = p.source(
        "readings",
        topic="readings",
        decode="json",
        schema="sensor STRING NOT NULL, celsius DOUBLE NOT NULL, at TIMESTAMP NOT NULL",
        on_error="dead-letter",
        dead_letter="readings-dead",
        watermark={"column": "at", "delay": "10 seconds"},
    )
    averages = (
        readings.groupBy(window("at", "10 seconds"), "sensor")
        .agg(round(avg("celsius"), 1).alias("celsius"), count("*").alias("readings"))
        .select(col("window.start").alias("began"), "sensor", "celsius", "readings")
    )
    p.sink(averages, console=True, mode="update", every="2 seconds")
