"""A query over a directory of text files that writes each line to a topic, exactly once.

    python -m tests.spark.stream_job SERVERS TOPIC DIRECTORY SINK [JVM]

runs it in a process of its own, with tasks that may be tried four times. With JVM a dying sink takes Spark's
whole JVM with it, and not only the Python process that commits.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from tests.spark import dying_sink
from tests.spark.read_back import counted

ROWS = 20


@dataclass
class Job:
    spark: SparkSession | None
    servers: str
    topic: str
    directory: Path
    rows: list[str] = field(default_factory=list)

    def feed(self, *more: str) -> None:
        """A file for each half, so that two tasks read them."""
        (self.directory / "in").mkdir(exist_ok=True)
        fresh = [*(f"{len(self.rows) + number}" for number in range(ROWS)), *more]
        for part in (0, 1):
            file = self.directory / "in" / f"{len(self.rows):06}-{part}"
            hidden = file.with_name("." + file.name)
            hidden.write_text("\n".join(fresh[part::2]))
            hidden.rename(file)
        self.rows += fresh

    def start(self, sink: str, **options: Any) -> StreamingQuery:
        assert self.spark is not None
        writer = (
            self.spark.readStream.format("text")
            .option("maxFilesPerTrigger", 2)
            .load(str(self.directory / "in"))
            .repartition(3, "value")
            .writeStream.format(sink)
            .option("kafka.bootstrap.servers", self.servers)
            .option("topic", self.topic)
            .option("delivery", "exactly-once")
            .option("checkpointLocation", str(self.directory / "checkpoint"))
        )
        for name, value in options.items():
            writer = writer.option(name.replace("__", "."), value)
        return writer.trigger(availableNow=True).start()

    def run(self, sink: str) -> bool:
        """Until all there is was read, or it died. Whether it lived."""
        query = self.start(sink)
        try:
            query.awaitTermination()
        except Exception:
            return False
        return True

    def check(self) -> None:
        assert counted(self.servers, self.topic) == dict.fromkeys(self.rows, 1)


def main(servers: str, topic: str, directory: str, sink: str, dies: str = "") -> None:
    from tidelog.spark.engine.session import spark_session

    spark = spark_session(
        "job",
        master="local[2,4]",
        settings={
            "spark.sql.shuffle.partitions": "3",
            "spark.python.authenticate.socketTimeout": "120s",
            "spark.ui.enabled": "false",
        },
    )
    dying_sink.register(spark, dying_sink.kill_the_jvm if dies == "JVM" else dying_sink.kill_this_process)
    print("lived" if Job(spark, servers, topic, Path(directory)).run(sink) else "died", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
