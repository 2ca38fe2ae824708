"""The jars of Spark's own Kafka connector, fetched by Maven into the cache folder on first use.

The release is the one that connector/pom.xml names: PyPI had a newer Spark than Maven when it was written,
and the connector runs in both.
"""

import re
from pathlib import Path

from kafka_jars import CACHE, lock, missing_tool, run

POM = Path(__file__).parent / "connector" / "pom.xml"


def connector_jars() -> list[Path]:
    """Empty where Java or Maven is missing; the test that needs them then says so."""
    if missing_tool() is not None:
        return []
    (version,) = re.findall("<spark.version>(.+?)</spark.version>", POM.read_text())
    folder = CACHE / f"spark-kafka-{version}"
    with lock("spark-kafka"):
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            goal = [
                "dependency:copy-dependencies",
                f"-DoutputDirectory={unfinished}",
                "-DincludeScope=runtime",
            ]
            run(["mvn", "-q", "-B", "-U", "-f", str(POM), *goal])
            unfinished.rename(folder)
    return sorted(folder.glob("*.jar"))
