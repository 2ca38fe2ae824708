"""`tidelog pipeline` as a person uses it: run, look, stop, go on, and be refused with a reason."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.interop.broker_process import free_port
from tests.spark.broker_topics import Topics
from tests.spark.read_back import counted
from tidelog.spark.pipeline.records import PipelineRecord
from tidelog.testing import Broker

PATIENCE_S = 300

PIPELINE = """\
name: totals
sources:
  orders:
    topic: {topic}
    decode: json
    schema: country STRING NOT NULL, cents BIGINT NOT NULL
  countries:
    file: countries.csv
steps:
  - name: named
    sql: SELECT c.name, o.cents FROM orders o JOIN countries c ON o.country = c.country
  - name: large
    from: named
    python: steps.py:large
sinks:
  - from: large
    topic: {topic}-large
    value: concat(name, ' ', cents)
    delivery: exactly-once
"""


class Home:
    """A directory with a pipeline, and the command run in it."""

    def __init__(self, directory: Path, broker: Broker, topic: str) -> None:
        self.directory = directory
        self.topic = topic
        self.servers = broker.bootstrap_servers
        self.environment = {
            **os.environ,
            "TIDELOG_PIPELINES": str(directory / "state"),
            "SPARK_MASTER": "local[2]",
        }
        (directory / "totals.yaml").write_text(PIPELINE.format(topic=topic))
        (directory / "countries.csv").write_text("country,name\nDE,Germany\nFR,France\n")
        (directory / "steps.py").write_text("def large(frame):\n    return frame.where('cents > 1000')\n")

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "tidelog.cli.main", "pipeline", *arguments]

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.command("run", *arguments, "-b", self.servers, "--json"),
            cwd=self.directory,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*arguments),
            cwd=self.directory,
            env=self.environment,
            text=True,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def rows(self) -> int:
        """What the run says it has read, since it began."""
        queries = PipelineRecord(self.directory / "state", "totals").status().get("queries")
        return int(queries[0]["rows"]) if queries else 0

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("status", "totals", "--json").stdout)
        return found


@pytest.fixture
def home(tmp_path: Path, broker: Broker, topics: Topics) -> Home:
    return Home(tmp_path, broker, topics.create(2))


def until(found: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def scraped(port: int) -> dict[str, float]:
    with urlopen(f"http://localhost:{port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    samples = [line.rpartition(" ") for line in lines if line.startswith("tidelog_pipeline_")]
    return {name: float(value) for name, _, value in samples}


def order(country: str, cents: int) -> bytes:
    return json.dumps({"country": country, "cents": cents}).encode()


@pytest.mark.timeout(2 * PATIENCE_S)
def test_run_look_stop_go_on(home: Home, broker: Broker, topics: Topics) -> None:
    topics.fill(home.topic, [order("DE", 5000), order("FR", 10), order("XX", 9000)])
    port = free_port()
    running = home.start("totals.yaml", "--metrics-port", str(port))
    try:
        until(lambda: running.poll() is not None or home.rows() == 3)
        status = home.status()
        shown, query = scraped(port), f'pipeline="totals",query="{status["queries"][0]["name"]}"'
        assert shown[f"tidelog_pipeline_up{{{query}}}"] == 1
        assert shown[f"tidelog_pipeline_input_rows_total{{{query}}}"] == 3
        assert shown[f"tidelog_pipeline_batches_total{{{query}}}"] >= 1
        assert shown[f"tidelog_pipeline_last_batch_time_seconds{{{query}}}"] > time.time() - PATIENCE_S
        assert shown[f'tidelog_pipeline_lag_records{{{query},topic="{home.topic}"}}'] == 0
        assert status["state"] == "running", running.communicate(timeout=10)
        assert status["queries"][0]["lag"] == 0
        assert home.run("list").stdout.split()[6:8] == ["totals", "running"]
        refused = home.run("run", "totals.yaml", "-b", home.servers)
        assert "runs already, as process" in refused.stderr
        assert json.loads(home.run("stop", "totals", "--json").stdout) == {
            "pipeline": "totals",
            "stopped": True,
        }
        out, errors = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 0, errors
        events = [json.loads(line)["event"] for line in out.splitlines()]
        assert events[:3] == ["metrics", "starting", "running"]
        assert events[-1] == "stopped"
    finally:
        running.kill()
    assert home.status()["state"] == "stopped"
    assert counted(broker.bootstrap_servers, f"{home.topic}-large") == {"Germany 5000": 1}

    topics.fill(home.topic, [order("FR", 7000)])
    again = home.start("totals.yaml")
    try:
        until(lambda: again.poll() is not None or home.rows() == 1)
        again.send_signal(signal.SIGTERM)
        _, errors = again.communicate(timeout=PATIENCE_S)
        assert again.returncode == 0, errors
    finally:
        again.kill()
    assert counted(broker.bootstrap_servers, f"{home.topic}-large") == {"Germany 5000": 1, "France 7000": 1}

    other = (home.directory / "totals.yaml").read_text().replace("name: totals", "name: other", 1)
    (home.directory / "other.yaml").write_text(other)
    checkpoint = str(home.directory / "state" / "totals" / "checkpoint")
    refused = home.run("run", "other.yaml", "--checkpoint", checkpoint)
    assert refused.returncode == 6
    assert f"{checkpoint} is the checkpoint of the pipeline 'totals', and this is 'other'." in refused.stderr


def test_what_does_not_run_is_named(home: Home) -> None:
    missing = home.run("status", "totls")
    assert missing.returncode == 3
    assert "No pipeline 'totls' has run here" in missing.stderr
    (home.directory / "totals.yaml").write_text("name: totals\nsorces: {}\n")
    wrong = home.run("run", "totals.yaml")
    assert wrong.returncode == 2
    assert "line 2, sorces: there is no key 'sorces' here; did you mean 'sources'?" in wrong.stderr


def test_what_spark_refuses_is_refused_before_a_topic_is_made(home: Home, topics: Topics) -> None:
    """An aggregate that would never be done: `append` without a watermark."""
    counts = PIPELINE.replace("SELECT c.name, o.cents FROM", "SELECT c.name, sum(o.cents) AS cents FROM")
    counts = counts.format(topic=home.topic).replace("c.country\n", "c.country GROUP BY c.name\n")
    (home.directory / "totals.yaml").write_text(counts)
    refused = home.run("run", "totals.yaml", "-b", home.servers)
    assert refused.returncode == 2
    assert "sinks[0]: 'mode: append' is not possible here" in refused.stderr
    assert f"{home.topic}-large" not in topics.names()


def test_a_port_for_metrics_that_is_taken(home: Home, broker: Broker) -> None:
    refused = home.run("run", "totals.yaml", "-b", home.servers, "--metrics-port", str(broker.port))
    assert refused.returncode != 0
    assert "another --metrics-port" in refused.stderr
    assert "Starting Spark" not in refused.stderr
