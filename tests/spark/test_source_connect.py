"""The source in a session of Spark Connect: the client has no JVM of its own, and registers nothing."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.broker_topics import Topics
from tidelog.testing import Broker

JOB = Path(__file__).parent / "connect_job.py"


def test_batch_and_stream_through_connect(broker: Broker, topics: Topics) -> None:
    if importlib.util.find_spec("grpc") is None:
        pytest.skip("grpcio is not installed: pip install 'tidelog[spark-connect]'")
    name = topics.create(2)
    topics.fill(name, [b"x"] * 30, partition=1)
    command = [sys.executable, str(JOB), broker.bootstrap_servers, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    found = done.stdout.split()
    assert found == ["30", "30", "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"], done.stderr[-3000:]
