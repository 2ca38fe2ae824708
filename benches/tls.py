"""What TLS costs, beside plain connections and beside Apache Kafka, in one run.

    python -m benches.tls [--megabytes N] [--rounds N] [--connections N] [--without-kafka]

The same client (librdkafka in a process of its own) writes and reads the same bytes, in turns: over plain TCP
and over TLS 1.3, to Tidelog and to Apache Kafka with the same certificate. CPU is of the broker's process
alone. A figure is the best of the rounds, since other work only ever adds.
"""

import argparse
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benches.rig.broker_process import environment, tidelog, work_folder
from benches.rig.frames import api_versions_frame
from benches.rig.report import machine, show
from benches.versus.processes import cpu_seconds, resident_bytes
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.broker_process import free_port
from tidelog.security.tls.authority import Authority

HANDSHAKE_SECONDS = 4.0
HANDSHAKE_THREADS = 6
SETTLED_SECONDS = 3.0
TOPIC = "load"


class Side(NamedTuple):
    name: str
    pid: int
    plain_port: int
    tls_port: int


class Cost(NamedTuple):
    seconds: float
    cpu_seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--without-kafka", action="store_true")
    given = parser.parse_args()
    print(machine())
    with ExitStack() as stack:
        directory = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tls-bench-", dir=work_folder()))
        )
        certificates = _certificates(directory)
        sides = [stack.enter_context(_tidelog(directory / "tidelog", certificates))]
        if not given.without_kafka:
            sides.append(stack.enter_context(_kafka(directory / "kafka", certificates)))
        _throughput(sides, certificates.ca, given.megabytes, given.rounds)
        for side in sides:
            _handshakes(side, certificates.ca)
        for side in sides:
            _connections(side, certificates.ca, given.connections)


class Certificates(NamedTuple):
    ca: Path
    keystore: Path
    """The key and the certificate in one PEM file, as Kafka wants it."""


def _certificates(directory: Path) -> Certificates:
    now = datetime.now(UTC)
    authority = Authority.new("bench", now)
    issued = authority.issue("localhost", now, hosts=["localhost", "127.0.0.1"])
    ca, keystore = directory / "ca.pem", directory / "keystore.pem"
    ca.write_bytes(authority.pem.certificate)
    keystore.write_bytes(issued.key + issued.certificate)
    return Certificates(ca, keystore)


def _settings(certificates: Certificates) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.keystore)}


@contextmanager
def _tidelog(directory: Path, certificates: Certificates) -> Iterator[Side]:
    directory.mkdir()
    plain, tls = free_port(), free_port()
    settings = {
        "node.id": "1",
        "log.dirs": str(directory / "data"),
        "controller.quorum.voters": f"1@localhost:{plain}",
        "listeners": f"PLAINTEXT://localhost:{plain},SSL://localhost:{tls}",
        "durability": "os",
        **_settings(certificates),
    }
    config = directory / "broker.yaml"
    config.write_text("".join(f'{name}: "{value}"\n' for name, value in settings.items()))
    with open(directory / "log", "wb") as log:
        command = [*tidelog(), "broker", "--config", str(config)]
        process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
    try:
        _until_it_listens(tls, process, directory / "log")
        yield Side("Tidelog", process.pid, plain, tls)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _kafka(directory: Path, certificates: Certificates) -> Iterator[Side]:
    directory.mkdir()
    plain, tls, controller = free_port(), free_port(), free_port()
    settings = {
        "controller.quorum.voters": f"1@localhost:{controller}",
        "listeners": f"PLAINTEXT://localhost:{plain},SSL://localhost:{tls},CONTROLLER://localhost:{controller}",
        "advertised.listeners": f"PLAINTEXT://localhost:{plain},SSL://localhost:{tls}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        **_settings(certificates),
    }
    kafka = ApacheKafka(plain, directory, settings, jvm=("-Xms2g", "-Xmx2g"))
    try:
        yield Side("Apache Kafka", kafka.process.pid, plain, tls)
    finally:
        kafka.stop()


def _until_it_listens(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("localhost", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the broker did not start:\n{log.read_text()}")


def _throughput(sides: list[Side], ca: Path, megabytes: int, rounds: int) -> None:
    """Rounds in turn, the first one to warm up; records are as in `_LOAD`."""
    best: dict[tuple[str, str, str], Cost] = {}
    for number in range(rounds + 1):
        for side in sides:
            for protocol in ("plain", "TLS"):
                for action in ("produce", "fetch"):
                    cost = _load(side, protocol, action, ca, megabytes if number else megabytes // 4)
                    key = side.name, protocol, action
                    if number and (key not in best or cost.cpu_seconds < best[key].cpu_seconds):
                        best[key] = cost
    gigabytes = megabytes / 1_000
    for (name, protocol, action), cost in best.items():
        show(f"{name}, {action} over {protocol}: CPU a GB", cost.cpu_seconds / gigabytes, "s")
        show(f"{name}, {action} over {protocol}: rate", megabytes / cost.seconds, "MB/s")
    if len(sides) > 1:
        for action in ("produce", "fetch"):
            ours, theirs = best["Tidelog", "TLS", action], best["Apache Kafka", "TLS", action]
            ratio = theirs.cpu_seconds / ours.cpu_seconds
            show(f"{action} over TLS: Kafka's CPU, as a multiple of ours", ratio, "x", at_least=1)
            show(f"{action} over TLS: our rate, as a multiple of Kafka's", theirs.seconds / ours.seconds, "x")


def _load(side: Side, protocol: str, action: str, ca: Path, megabytes: int) -> Cost:
    port = side.plain_port if protocol == "plain" else side.tls_port
    client = subprocess.Popen(
        [sys.executable, "-c", _LOAD, action, f"localhost:{port}", protocol, str(ca), str(megabytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdin is not None
    assert client.stdout is not None
    if client.stdout.readline().strip() != "ready":
        raise RuntimeError(f"the client could not {action} over {protocol}")
    before = cpu_seconds([side.pid])
    client.stdin.write("go\n")
    client.stdin.flush()
    seconds = float(client.stdout.readline())
    cost = Cost(seconds, cpu_seconds([side.pid]) - before)
    client.stdin.close()
    client.wait()
    return cost


# A process of its own, so that its CPU is not ours. Records of 8 KiB that no codec makes smaller.
_LOAD = f"""
import os, sys, time
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

action, servers, protocol, ca, megabytes = sys.argv[1:]
topic = "{TOPIC}-" + protocol
client = {{"bootstrap.servers": servers, "log_level": 2}}
if protocol == "TLS":
    client |= {{"security.protocol": "ssl", "ssl.ca.location": ca}}
count = int(megabytes) * 1_000_000 // 8192
if action == "produce":
    admin = AdminClient(client)
    if topic in admin.list_topics(timeout=20).topics:
        admin.delete_topics([topic])[topic].result(20)
        while topic in admin.list_topics(timeout=20).topics:
            time.sleep(0.2)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(20)
    producer = Producer(client | {{"acks": 1, "linger.ms": 5, "batch.size": 1_000_000,
        "queue.buffering.max.messages": 20_000}})
    values = [os.urandom(8192) for _ in range(64)]
    producer.produce(topic, values[0])
    assert producer.flush(30) == 0
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, values[number % 64])
                break
            except BufferError:
                producer.poll(0.01)
        if number % 256 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
else:
    consumer = Consumer(client | {{"group.id": "bench", "enable.auto.commit": False, "check.crcs": False,
        "fetch.message.max.bytes": 4_000_000, "queued.max.messages.kbytes": 65_536}})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(consumer.consume(1, 30)) == 1
    consumer.seek(TopicPartition(topic, 0, 0))
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    read = 0
    while read < count:
        read += len(consumer.consume(min(500, count - read), 10))
print(time.perf_counter() - began, flush=True)
sys.stdin.read()
"""


def _client_context(ca: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca))
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def _handshakes(side: Side, ca: Path) -> None:
    """Whole ones, without a session that is resumed, from several threads."""
    context = _client_context(ca)
    counts = [0] * HANDSHAKE_THREADS
    deadline = time.monotonic() + HANDSHAKE_SECONDS

    def repeat(number: int) -> None:
        while time.monotonic() < deadline:
            with socket.create_connection(("localhost", side.tls_port)) as sock:
                context.wrap_socket(sock, server_hostname="localhost").close()
            counts[number] += 1

    before = cpu_seconds([side.pid])
    threads = [threading.Thread(target=repeat, args=(number,)) for number in range(HANDSHAKE_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = sum(counts)
    show(f"{side.name}: handshakes, with the client on the same cores", done / HANDSHAKE_SECONDS, "a second")
    show(f"{side.name}: CPU of a handshake", (cpu_seconds([side.pid]) - before) / done * 1e3, "ms")


def _connections(side: Side, ca: Path, count: int) -> None:
    context, request = _client_context(ca), api_versions_frame()
    before = resident_bytes([side.pid])
    sockets = []
    for _ in range(count):
        sock = socket.create_connection(("localhost", side.tls_port))
        session = context.wrap_socket(sock, server_hostname="localhost")
        session.sendall(request)
        session.recv(65536)
        sockets.append(session)
    time.sleep(SETTLED_SECONDS)
    used = resident_bytes([side.pid]) - before
    show(f"{side.name}: memory of each of {count} TLS connections", used / count / 1024, "KiB")
    for session in sockets:
        session.close()


if __name__ == "__main__":
    main()
