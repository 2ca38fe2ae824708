"""How the tests start Java for Spark: quickly, since each such JVM lives for seconds.

Spark's script gives what these variables hold to the JVM that works out a command and to Spark's own.
"""

import os
from collections.abc import Mapping

# As for the Java clients: the serial collector and one compiler tier take half the CPU of a start.
OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
VARIABLES = ("SPARK_LAUNCHER_OPTS", "SPARK_SUBMIT_OPTS")


def quick_java(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables, with whatever they hold already."""
    return {name: f"{OPTIONS} {environment.get(name, '')}".strip() for name in VARIABLES}
