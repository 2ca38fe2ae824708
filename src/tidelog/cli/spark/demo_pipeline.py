"""The demonstration of pipelines: sample orders, and a windowed table of them by Spark, as it changes.

`tidelog up --demo-pipeline` runs this after the first demonstration, as a process of its own. What fails here
is told and ends only this: the brokers are of use without Spark too.
"""

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tidelog.base.errors import TidelogError
from tidelog.cli.context.chosen import ChosenConnection, GivenConnection, choose
from tidelog.cli.spark.client_options import client_options
from tidelog.cli.spark.pipeline_view import PipelineView

if TYPE_CHECKING:
    pass

TOPIC = "demo-orders"
PIPELINE = Path(__file__).with_name("demo_pipeline.yaml")
COUNTRIES = {"DE": 5, "FR": 4, "PL": 3, "NL": 2, "AT": 1}
ORDERS_PER_S = 20


def main() -> None:
    servers, *context = sys.argv[1:]
    try:
        show_pipeline(choose(GivenConnection(servers, context=context[0] if context else None)))
    except TidelogError as error:
        print(f"\nThe pipeline does not run: {error}\nThe brokers do.", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass


def show_pipeline(connection: ChosenConnection) -> None:
    from tidelog.cli.spark.install import install_spark, missing_modules

    view = PipelineView(as_json=False)
    if missing_modules():
        install_spark()
    print(f"  Next, a pipeline on Spark: {PIPELINE.name} counts sample orders by country. Spark starts…\n")
    sys.stdout.flush()
    _create_topic(connection)
    began = time.monotonic()
    client = client_options(connection)
    spark = _quiet_spark()
    # Spark's own handlers would wait for jobs; at Ctrl-C this process and its JVM just end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _run(spark, connection, client, view, began)


def _run(
    spark: object, connection: ChosenConnection, client: Mapping[str, str], view: PipelineView, began: float
) -> None:
    from tidelog.spark.engine.scripts import cache_directory
    from tidelog.spark.pipeline.build import build
    from tidelog.spark.pipeline.load import load_pipeline
    from tidelog.spark.pipeline.run import Run

    directory = cache_directory() / "demo-checkpoint"
    shutil.rmtree(directory, ignore_errors=True)
    run = Run(str(directory), once=False, show=view.rows)
    loaded = load_pipeline(str(PIPELINE))
    run.start(build(spark, loaded, connection.servers, client))  # type: ignore[arg-type]
    threading.Thread(target=write_orders, args=(connection,), daemon=True).start()
    first = connection.servers.partition(",")[0]
    flag = "" if first == "localhost:9092" else f" -b {first}"
    flag = flag if connection.context is None else f" --context {connection.context}"
    print(
        f"  It runs after {time.monotonic() - began:.0f} s; rows appear as they change. Elsewhere:\n"
        f"    {_command()} consume {TOPIC}{flag}\n"
        f"    {_command()} pipeline run FILE{flag}      # examples/ has five to try\n",
        flush=True,
    )
    run.until_done(lambda: False, lambda found: None)


def _command() -> str:
    """What to type in this directory to run this very installation."""
    script, found = Path(sys.executable).with_name("tidelog"), shutil.which("tidelog")
    if not script.exists() or (found is not None and script.samefile(found)):
        return "tidelog"
    return os.path.relpath(script)


def _quiet_spark() -> object:
    from tidelog.spark.engine.session import spark_session

    return spark_session("demo")


def _create_topic(connection: ChosenConnection) -> None:
    from tidelog import Admin

    with Admin({**connection.properties, "bootstrap.servers": connection.servers}) as admin:
        admin.create_topic(TOPIC, partitions=3, config={"retention.ms": 3_600_000}, if_not_exists=True)


def write_orders(connection: ChosenConnection) -> None:
    """Until the process ends. One order in ten is some seconds late, so that windows are corrected."""
    from tidelog import Producer

    random = Random()
    with Producer({**connection.properties, "bootstrap.servers": connection.servers}) as producer:
        number = 0
        while True:
            number += 1
            [country] = random.choices(list(COUNTRIES), list(COUNTRIES.values()))
            at = datetime.now(UTC) - timedelta(seconds=random.uniform(1, 8) if random.random() < 0.1 else 0)
            order = {
                "order_id": f"o{number}",
                "country": country,
                "cents": round(random.lognormvariate(8, 1)),
                "at": at.isoformat(),
            }
            producer.send(TOPIC, key=country, value=json.dumps(order).encode())
            time.sleep(random.expovariate(ORDERS_PER_S))


if __name__ == "__main__":
    main()
