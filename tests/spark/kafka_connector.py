"""The jars of Spark's own Kafka connector, fetched by Maven into the cache directory on first use.

The release is the one that connector/pom.xml names: PyPI had a newer Spark than Maven when it was written,
and the connector runs in both.
"""

import re
from pathlib import Path

from tests.interop.kafka_jars import CACHE, lock, missing_tool, run

POM = Path(__file__).parent / "connector" / "pom.xml"


class NoConnector(Exception):
    """Java or Maven is missing, or Maven did not reach its repository."""


def connector_jars() -> list[Path]:
    lacking = missing_tool()
    if lacking is not None:
        raise NoConnector(lacking)
    (version,) = re.findall("<spark.version>(.+?)</spark.version>", POM.read_text())
    directory = CACHE / f"spark-kafka-{version}"
    with lock("spark-kafka"):
        if not directory.exists():
            unfinished = directory.with_suffix(".unfinished")
            goal = [
                "dependency:copy-dependencies",
                f"-DoutputDirectory={unfinished}",
                "-DincludeScope=runtime",
            ]
            try:
                run(["mvn", "-q", "-B", "-U", "-f", str(POM), *goal])
            except RuntimeError as error:
                raise NoConnector(f"Maven did not bring Spark's Kafka connector: {error}") from error
            unfinished.rename(directory)
    return sorted(directory.glob("*.jar"))
