"""The chart with TLS, users and ACLs from secrets, and racks that an init container reads from the nodes."""

import base64
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.kube.control_plane.release import NAMESPACE, Release, eventually
from tidelog.security.sasl.scram_credential import ScramMechanism, new_credential
from tidelog.security.sasl.users_file import users_file_line
from tidelog.security.tls.authority import Authority
from tools.manifests import values_file

pytestmark = pytest.mark.timeout(600)
PASSWORD = "admin-secret"


def add_secret(release: Release, name: str, files: dict[str, bytes]) -> None:
    data = {file: base64.b64encode(content).decode() for file, content in files.items()}
    release.plane.api.post(
        f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": name}, "data": data}
    )


def test_a_secured_release(release: Release, tmp_path: Path) -> None:
    authority = Authority.new("Kubernetes test", datetime.now(UTC))
    hosts = tuple(release.kubelet.machine.address_of(number) for number in range(3))
    issued = authority.issue("tidelog", datetime.now(UTC), hosts=hosts, days=30)
    combined = issued.key + issued.certificate
    add_secret(release, "tidelog-tls", {"ca.crt": authority.pem.certificate, "tls-combined.pem": combined})
    kind = ScramMechanism.SHA_256
    line = users_file_line("admin", kind, new_credential(kind, PASSWORD, os.urandom(16)))
    add_secret(release, "tidelog-users", {"users": f"{line}\n".encode()})

    release.helm("install", "rack.from=node", more=("--values", str(values_file("secured"))))
    release.until_rolled_out(3)
    # As the pre-stop hook talks to the brokers: by their own certificate.
    hook = release.kubelet.running("tidelog-0").hook
    options = hook[hook.index("-X") :]
    rows = release.json("cluster", "brokers", *options)
    assert sorted(row["rack"] for row in rows) == ["zone-a", "zone-b", "zone-c"]

    (tmp_path / "ca.pem").write_bytes(authority.pem.certificate)
    client = {
        "bootstrap.servers": release.bootstrap_servers,
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": str(tmp_path / "ca.pem"),
        "ssl.endpoint.identification.algorithm": "https",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "admin",
        "sasl.password": PASSWORD,
        "log_level": 0,
    }
    admin = AdminClient(client)
    admin.create_topics([NewTopic("t", 3, 3)])["t"].result(60)
    delivered: list[object] = []
    producer = Producer(client)
    producer.produce("t", b"kept", on_delivery=lambda error, _: delivered.append(error))
    assert producer.flush(60) == 0
    assert delivered == [None]
    with pytest.raises(KafkaException):
        AdminClient({**client, "sasl.password": "wrong"}).list_topics(timeout=5)

    release.plane.api.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/tidelog-1", {})
    eventually(
        lambda: bool(release.kubelet.machine.details("stopped")), lambda: str(release.kubelet.machine.events)
    )
    release.until_rolled_out(3)
    [allowed] = release.kubelet.machine.details("may stop")
    assert allowed.startswith("0 "), allowed
    release.tidelog("cluster", "status", "--wait", "60", *options)
