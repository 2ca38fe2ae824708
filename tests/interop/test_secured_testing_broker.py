"""Secured brokers and clusters of `tidelog.testing`, with the clients that their users have."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from kafka import KafkaProducer

from tidelog import AuthenticationFailed, Producer
from tidelog.testing import Broker, Cluster, Security

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
WAYS = [
    ("ssl", "SCRAM-SHA-512"),
    ("sasl_plaintext", "SCRAM-SHA-256"),
    ("sasl_ssl", "SCRAM-SHA-512"),
    ("sasl_ssl", "PLAIN"),
]


@pytest.mark.parametrize(("protocol", "mechanism"), WAYS)
def test_each_library_connects(protocol: str, mechanism: str) -> None:
    with Broker(security=Security(protocol, mechanism, users={"ann": "a secret"})) as broker:
        with Producer(broker.client_config("ann")) as producer:
            assert producer.send("t", "1").result().offset == 0
        with Producer(broker.client_config("ann", "java")) as producer:
            assert producer.send("t", "2").result().offset == 1
        python = KafkaProducer(**broker.client_config("ann", "kafka-python"))
        assert python.send("t", b"3").get(20).offset == 2
        python.close()
        assert asyncio.run(_sent(broker)) == 3
        assert _refused(broker), "another password does not get in"


async def _sent(broker: Broker) -> int:
    producer = AIOKafkaProducer(**broker.client_config("ann", "aiokafka"))
    await producer.start()
    try:
        return int((await producer.send_and_wait("t", b"4")).offset)
    finally:
        await producer.stop()


def _refused(broker: Broker) -> bool:
    config = broker.client_config("ann")
    if "sasl.password" not in config:
        config = {
            name: value for name, value in config.items() if "certificate" not in name and "key" not in name
        }
    else:
        config["sasl.password"] = "another"
    with Producer(config) as producer, pytest.raises(AuthenticationFailed):
        producer.send("t", "5").result()
    return True


def test_a_cluster_replicates_over_tls() -> None:
    with Cluster(security="sasl_ssl") as cluster, Producer(cluster.client_config()) as producer:
        assert producer.send("t", "1").result().offset == 0
        cluster.kill(1)
        assert producer.send("t", "2").result().offset == 1
        cluster.restart(1)


def test_a_user_that_does_not_exist() -> None:
    with Broker(security="ssl") as broker, pytest.raises(ValueError, match="no user 'bob'; there are admin"):
        broker.client_config("bob")


def test_without_security_there_is_only_the_address() -> None:
    with Broker() as broker:
        assert broker.client_config() == {"bootstrap.servers": broker.bootstrap_servers}
        assert broker.client_config(library="aiokafka") == {"bootstrap_servers": broker.bootstrap_servers}


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [example] = [block for block in blocks if 'security="sasl_ssl"' in block and "def test_" in block]
    (tmp_path / "test_example.py").write_text(example)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
