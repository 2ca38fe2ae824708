"""A machine whose brokers demand logins of each other: its supervisor has one, so that cores can be added and
removed."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from tests.interop.broker_process import console_script
from tests.interop.fleet_process import PATIENCE_S, clean_environment
from tests.interop.numbered_records import PARTITIONS, TOPIC, leaders, read_all, send
from tests.interop.waiting import eventually
from tidelog.security.tls.authority import Authority
from tidelog.server.free_ports import free_ports

pytestmark = pytest.mark.timeout(180)
RECORDS = 400
KEY_PASSWORD = "of ${the} key"

CERTIFICATES = {
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:SSL",
    "listener.name.brokers.ssl.client.auth": "required",
    "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
}
PASSWORDS = {
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:SASL_SSL",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.brokers.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="broker" password="it\'s secret" user_broker="it\'s secret";'
    ),
}


class SecuredMachine:
    def __init__(self, directory: Path, security: dict[str, str]) -> None:
        clients, brokers = free_ports("localhost", 2, in_a_row=2)
        self.servers = f"localhost:{clients}"
        self.directory = directory
        self.file, self.log_file = directory / "broker.json", directory / "log"
        settings = {
            "node.id": 1,
            "listeners": f"CLIENTS://localhost:{clients},BROKERS://localhost:{brokers}",
            "inter.broker.listener.name": "BROKERS",
            "controller.quorum.voters": f"1@localhost:{brokers}",
            "log.dirs": str(directory / "data"),
            "durability": "os",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(directory / "broker.pem"),
            "ssl.key.password": KEY_PASSWORD.replace("$", "$$"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(directory / "ca.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:broker;User:ANONYMOUS",
            "offsets.topic.num.partitions": 4,
            "group.initial.rebalance.delay.ms": 0,
            **security,
        }
        self.file.write_text(json.dumps(settings))
        write_key(directory)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, cores: int) -> None:
        ready = self.directory / "ready.json"
        ready.unlink(missing_ok=True)
        command = [console_script(), "broker", "--config", str(self.file), "--cores", str(cores)]
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, "--ready-file", str(ready)],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=clean_environment(),
            )
        deadline = time.monotonic() + PATIENCE_S
        while not ready.exists():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.02)

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def said(self) -> str:
        return self.log_file.read_text(errors="replace")


def write_key(directory: Path) -> None:
    """Under a password, beside the certificate of its authority."""
    authority = Authority.new("Tests", datetime.now(UTC))
    issued = authority.issue("broker", datetime.now(UTC), hosts=("localhost", "127.0.0.1"))
    key = load_pem_private_key(issued.key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(KEY_PASSWORD.encode())
    )
    (directory / "broker.pem").write_bytes(key + issued.certificate)
    (directory / "ca.pem").write_bytes(authority.pem.certificate)


@pytest.fixture(params=[CERTIFICATES, PASSWORDS], ids=["certificates", "passwords"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SecuredMachine]:
    made = SecuredMachine(tmp_path, request.param)
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.terminate()
        made.process.wait(PATIENCE_S)


def test_more_cores_and_fewer(machine: SecuredMachine) -> None:
    machine.start(1)
    admin = AdminClient({"bootstrap.servers": machine.servers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    send(machine.servers, range(RECORDS))
    assert machine.stop() == 0

    machine.start(2)
    eventually(lambda: sorted(leaders(machine.servers)) == [1] * 4 + [1001] * 4, 60)
    assert read_all(machine.servers, "two", RECORDS) == list(range(RECORDS))
    assert machine.stop() == 0

    machine.start(1)
    eventually(lambda: "Broker 1001 is drained and gone" in machine.said(), 60)
    assert set(leaders(machine.servers)) == {1}
    assert read_all(machine.servers, "one", RECORDS) == list(range(RECORDS))
    assert machine.stop() == 0
