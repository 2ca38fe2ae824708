"""Run one example: `python examples/run.py revenue_per_minute`. Ctrl-C ends it.

Starts a broker of its own, unless `-b host:port` names one; makes the topics; writes sample events as time
goes by; and runs the pipeline on Spark, as `tidelog pipeline run` would.
"""

import argparse
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from types import ModuleType

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from event import paced, write  # noqa: E402 - found beside this file

from tidelog import Admin, AdminConfig  # noqa: E402
from tidelog.cli.main import run  # noqa: E402
from tidelog.cli.session import Session  # noqa: E402
from tidelog.testing import Broker  # noqa: E402

PARTITIONS = 2
EXAMPLES = sorted(directory.name for directory in HERE.iterdir() if (directory / "events.py").exists())


def generator(example: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{example}_events", HERE / example / "events.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"There is no example {example}.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pipeline_file(example: str) -> str:
    directory = HERE / example
    yaml = directory / "pipeline.yaml"
    return str(yaml) if yaml.exists() else f"{directory / 'pipeline.py'}:{example}"


@contextmanager
def brokers(given: str | None) -> Iterator[str]:
    if given is not None:
        yield given
        return
    with Broker() as broker:
        os.environ["SCHEMA_REGISTRY"] = broker.schema_registry_url
        yield broker.bootstrap_servers


def create_topics(servers: str, names: Iterable[str]) -> None:
    with Admin(AdminConfig(bootstrap_servers=servers.split(","))) as admin:
        for name in names:
            admin.create_topic(name, partitions=PARTITIONS, if_not_exists=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run an example pipeline with sample events.")
    parser.add_argument("example", choices=EXAMPLES)
    parser.add_argument("-b", "--bootstrap-server", help="use these brokers, instead of one started for this")
    parser.add_argument("--seed", type=int, default=1, help="of the sample events")
    chosen = parser.parse_args()
    source = generator(chosen.example)
    with ExitStack() as stack:
        servers = stack.enter_context(brokers(chosen.bootstrap_server))
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidelog-example-"))
        # Tables and state of an example are for looking at, not for keeping.
        os.environ.setdefault("TIDELOG_PIPELINES", directory)
        made = source.events(Random(chosen.seed), datetime.now(UTC))
        create_topics(servers, source.TOPICS)
        threading.Thread(target=write, args=(servers, paced(made)), daemon=True).start()
        return run(["pipeline", "run", pipeline_file(chosen.example), "-b", servers], Session())


if __name__ == "__main__":
    sys.exit(main())
