"""The broker inside a test: as a context manager, from asyncio, and as pytest fixtures."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from confluent_kafka import Producer

from tidelog.base.config.config import ConfigError
from tidelog.cli.main import run
from tidelog.testing import Broker


def produce(broker: Broker, topic: str, value: bytes) -> int:
    """The offset it got."""
    offsets = []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    producer.produce(
        topic, value, partition=0, on_delivery=lambda _, message: offsets.append(message.offset())
    )
    assert producer.flush(20) == 0
    return int(offsets[0])


def _broker_threads() -> int:
    return sum(thread.name == "tidelog-broker" for thread in threading.enumerate())


def test_it_is_the_real_broker_and_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    threads = threading.active_count()
    brokers = _broker_threads()  # of fixtures that other tests share
    with Broker() as broker:
        directory = broker.data_dir
        assert broker.bootstrap_servers == f"127.0.0.1:{broker.port}"
        assert run(["-b", broker.bootstrap_servers, "produce", "t", "hello", "--create-topic"]) == 0
        assert (Path(directory) / "t-0").is_dir()
    assert not os.path.exists(directory)
    assert _broker_threads() == brokers
    assert threading.active_count() <= threads + 1  # librdkafka's own may still wind down


def test_settings_have_kafka_s_names(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker(settings={"num.partitions": 3, "auto.create.topics.enable": False}) as broker:
        assert run(["-b", broker.bootstrap_servers, "topic", "create", "t", "--json"]) == 0
        assert run(["-b", broker.bootstrap_servers, "topic", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["t", "3", "1"]


def test_a_wrong_setting_is_refused_at_start_and_leaves_nothing_behind() -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"):
        Broker(settings={"num.partition": 3}).start()


def test_a_restart_keeps_data_and_port() -> None:
    with Broker() as broker:
        port = broker.port
        assert run(["-b", broker.bootstrap_servers, "topic", "create", "t"]) == 0
        assert [produce(broker, "t", b"x") for _ in range(2)] == [0, 1]
        broker.restart()
        assert broker.port == port
        assert produce(broker, "t", b"x") == 2


def test_a_directory_of_your_own_stays(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path / "kept") as broker:
        assert run(["-b", broker.bootstrap_servers, "topic", "create", "t"]) == 0
        produce(broker, "t", b"x")
    with Broker(data_dir=tmp_path / "kept") as broker:
        assert produce(broker, "t", b"x") == 1


def test_two_brokers_at_once() -> None:
    with Broker() as one, Broker() as other:
        assert one.port != other.port
        assert one.data_dir != other.data_dir


def test_outside_of_its_life_it_says_so() -> None:
    broker = Broker()
    with pytest.raises(RuntimeError, match="not running"):
        _ = broker.bootstrap_servers
    with broker, pytest.raises(RuntimeError, match="runs already"):
        broker.start()
    broker.stop()  # a second stop is no mistake


def test_from_asyncio_it_never_blocks_the_loop() -> None:
    async def scenario() -> bytes | None:
        async with Broker() as broker:
            producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
            await producer.start()
            await producer.send_and_wait("t", b"hello", partition=0)
            await producer.stop()
            consumer = AIOKafkaConsumer(
                bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
            )
            await consumer.start()
            consumer.assign([TopicPartition("t", 0)])
            record = await asyncio.wait_for(consumer.getone(), 20)
            await consumer.stop()
            return record.value

    assert asyncio.run(scenario()) == b"hello"


def test_it_starts_in_the_blink_of_an_eye() -> None:
    """A sanity bound for a machine under load; the figure itself is measured in benches."""
    with Broker():
        pass
    began = time.perf_counter()
    with Broker():
        assert time.perf_counter() - began < 2


SUITE = """
    import os
    import pytest

    FOLDERS = []

    def test_fresh(tidelog_broker):
        assert os.path.isdir(tidelog_broker.data_dir)
        FOLDERS.append(tidelog_broker.data_dir)

    @pytest.mark.tidelog({"num.partitions": 7})
    def test_marked(tidelog_broker):
        assert FOLDERS != [tidelog_broker.data_dir]
        assert not os.path.exists(FOLDERS[0])
        assert tidelog_broker.settings["num.partitions"] == 7

    def test_shared_1(tidelog_session_broker):
        FOLDERS.append(tidelog_session_broker.data_dir)

    def test_shared_2(tidelog_session_broker):
        assert FOLDERS[-1] == tidelog_session_broker.data_dir
"""


def pytest_in(directory: Path, suite: str, *options: str) -> subprocess.CompletedProcess[str]:
    (directory / "test_suite.py").write_text(textwrap.dedent(suite))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        *options,
        str(directory),
    ]
    return subprocess.run(command, capture_output=True, text=True, cwd=directory, timeout=100, check=False)


def test_the_fixtures(tmp_path: Path) -> None:
    done = pytest_in(tmp_path, SUITE)
    assert "4 passed" in done.stdout, done.stdout


def test_the_plugin_costs_nothing_where_it_is_not_used(tmp_path: Path) -> None:
    suite = """
        import sys

        def test_nothing_is_loaded():
            loaded = {name for name in sys.modules if name.partition(".")[0] == "tidelog"}
            assert loaded == {"tidelog", "tidelog.testing", "tidelog.testing.pytest_plugin"}
            assert "msgspec" not in sys.modules
    """
    done = pytest_in(tmp_path, suite)
    assert "1 passed" in done.stdout, done.stdout
