"""A Spark session that fits streaming on one machine, and leaves a cluster's own settings alone.

`spark_session("name")` runs Spark in this process's own JVM; `master` names a cluster, `remote` a server of
Spark Connect. Whatever is given in `settings` wins.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.base.errors import TidelogError
from tidelog.spark.engine.java import STDERR_VARIABLE, find_java, java_home
from tidelog.spark.engine.scripts import cache_directory
from tidelog.spark.engine.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
INSTALL = "pip install 'tidelog[spark]'"

# Of every session, wherever it runs: they belong to a query, so Connect takes them too.
QUERY_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


class SparkMissing(TidelogError):
    """PySpark is not installed, or does not start."""


def spark_session(
    name: str,
    *,
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    log_file: Path | None = None,
) -> "SparkSession":
    """A Spark session that fits streaming on one machine, and leaves a cluster's own settings alone.

    Times are in UTC, state is kept in RocksDB, and there are as many shuffle partitions as cores. Java
    comes from PyPI where the machine has none.

    Example:
        from tidelog.spark import spark_session

        spark = spark_session("counts")
        events = (
            spark.read.format("tidelog")
            .option("kafka.bootstrap.servers", "localhost:9092")
            .option("subscribe", "events")
            .load()
        )
        print(events.count())

    Args:
        name: The name of the application.
        master: The cluster, such as `spark://host:7077`. None: `SPARK_MASTER` from the environment, else
            `local[*]`.
        remote: A server of Spark Connect, such as `sc://host:15002`, instead of a session in this process.
        settings: Settings of Spark; they win over all others.
        log_file: Takes what the JVM logs and what Spark's workers print. None: the terminal.

    Raises:
        SparkMissing: PySpark is not installed, or does not start.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SparkMissing(f"PySpark is not installed ({error}). Try: {INSTALL}") from error
    if remote is not None:
        return _built(SparkSession.builder.remote(remote), name, QUERY_SETTINGS | dict(settings or {}))
    master = master or os.environ.get("SPARK_MASTER") or "local[*]"
    prepare_environment(is_local=master.startswith("local"))
    os.environ[STDERR_VARIABLE] = "" if log_file is None else str(log_file)
    wanted = session_settings(master, log_file) | dict(settings or {})
    try:
        return _built(SparkSession.builder.master(master), name, wanted)
    except RuntimeError as error:
        more = "" if log_file is None else f"; {log_file} may say more"
        raise SparkMissing(f"Spark did not start on {find_java().path}: {error}{more}") from error


def _built(builder: "SparkSession.Builder", name: str, settings: Mapping[str, str]) -> "SparkSession":
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.appName(name).getOrCreate()


def prepare_environment(*, is_local: bool = True) -> None:
    """What Spark reads from the environment: which Python its workers run, and which Java it runs on."""
    directory = cache_directory()
    script = str(worker_python(directory))
    # The processes that plan for a Python data source run on this machine, and by this name.
    os.environ["PYSPARK_DRIVER_PYTHON"] = script
    if is_local:
        os.environ["PYSPARK_PYTHON"] = script
    else:  # a path that is good on the cluster's machines: theirs, if it was said, or the same as here
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if Path(os.environ.get("JAVA_HOME", "")).parent != directory:  # else it was prepared before
        os.environ["JAVA_HOME"] = str(java_home(find_java(), directory))


def session_settings(master: str, log_file: Path | None) -> dict[str, str]:
    """The settings of a session that brings its own JVM."""
    log4j = Path(__file__).with_name("log4j2.properties")
    options = [f"-Dlog4j2.configurationFile=file:{log4j}", f"-Dtidelog.spark.log={log_file or os.devnull}"]
    wanted = QUERY_SETTINGS | {
        "spark.ui.showConsoleProgress": "false",
        # A busy machine starts a Python worker in more than the 15 s that Spark waits by default.
        "spark.python.authenticate.socketTimeout": "120s",
        "spark.driver.extraJavaOptions": " ".join(_quoted(option) for option in options),
    }
    if master.startswith("local"):
        wanted |= {
            "spark.ui.enabled": "false",
            # A name that does not resolve is common in containers, and no other machine needs to connect.
            "spark.driver.host": "localhost",
            "spark.driver.bindAddress": "127.0.0.1",
            # Each shuffle partition is a task with a state store of its own, at every micro-batch.
            "spark.sql.shuffle.partitions": str(_cores(master)),
            "spark.sql.streaming.noDataMicroBatches.enabled": "true",
            "spark.default.parallelism": str(_cores(master)),
        }
    return wanted


def _cores(master: str) -> int:
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return int(inside) if inside.isdigit() else os.cpu_count() or 1


def _quoted(option: str) -> str:
    return f'"{option}"' if " " in option else option
