"""`tidelog up --secure` as a process: real clients with the files that it writes, and clients it refuses."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.interop.broker_process import BrokerProcess, console_script, free_port
from tests.interop.command_line import Done, Tidelog, run_here
from tests.interop.drivers.kcat import missing_tool as missing_kcat
from tests.interop.fleet_process import PATIENCE_S, FleetProcess
from tests.interop.waiting import eventually
from tidelog.base.properties import parse_properties
from tidelog.server.free_ports import free_ports

pytestmark = pytest.mark.timeout(180)

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"


class SecuredCluster:
    """Three brokers, and the files that `up` wrote."""

    def __init__(self, fleet: FleetProcess) -> None:
        self.fleet = fleet
        self.files = fleet.directory / "data" / "security"
        self.facts = fleet.facts

    @property
    def properties(self) -> dict[str, Any]:
        return dict(parse_properties((self.files / "client.properties").read_text()))

    @property
    def context(self) -> str:
        return str(self.facts["context"])


@pytest.fixture
def tidelog(
    environment: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tidelog:
    """Runs a command in this process, with variables of its own."""

    def call(*arguments: str, **variables: str) -> Done:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        return run_here(capsys, monkeypatch, arguments, b"", None)

    return call


@pytest.fixture
def as_admin(cluster: SecuredCluster, tidelog: Tidelog) -> Tidelog:
    return lambda *arguments, **variables: tidelog("--context", cluster.context, *arguments, **variables)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Contexts are saved below it, not in the home directory of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture(scope="module")
def cluster(environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredCluster]:
    fleet = FleetProcess(tmp_path_factory.mktemp("secured"), "--secure", "--brokers", "3", "--port", "0")
    yield SecuredCluster(fleet)
    fleet.stop()


def test_librdkafka_takes_its_file_as_it_is(cluster: SecuredCluster) -> None:
    from confluent_kafka import Consumer, Producer

    producer = Producer(cluster.properties)
    producer.produce("librdkafka", b"hello")
    assert producer.flush(PATIENCE_S) == 0
    consumer = Consumer(cluster.properties | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["librdkafka"])
    deadline = time.monotonic() + PATIENCE_S
    message = None
    while message is None and time.monotonic() < deadline:
        message = consumer.poll(1.0)
    consumer.close()
    assert message is not None
    assert message.value() == b"hello"


def test_kcat_takes_the_same_file(cluster: SecuredCluster) -> None:
    if (missing := missing_kcat()) is not None:
        pytest.skip(missing)
    done = subprocess.run(
        ["kcat", "-F", str(cluster.files / "client.properties"), "-L", "-J"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert len(json.loads(done.stdout)["brokers"]) == 3, done.stderr


def test_kafkas_tools_take_the_file_for_java(
    cluster: SecuredCluster, open_client: Callable[[str], Any]
) -> None:
    java = open_client("java")
    servers = ["--bootstrap-server", cluster.properties["bootstrap.servers"]]
    config = ["--command-config", str(cluster.files / "client-java.properties")]
    assert "Created topic java." in java.tool(TOPICS, *servers, *config, "--create", "--topic", "java")
    java.tool(CONSOLE_PRODUCER, *servers, *config, "--topic", "java", stdin="from Java\n")
    read = ["--topic", "java", "--from-beginning", "--max-messages", "1", "--timeout-ms", "30000"]
    assert java.tool(CONSOLE_CONSUMER, *servers, *config, *read).splitlines()[0] == "from Java"


def test_sparks_options_reach_the_cluster(cluster: SecuredCluster) -> None:
    """By the client that Spark's tasks use."""
    from contextlib import closing

    from tidelog.blocking.brokers import Brokers
    from tidelog.blocking.security_options import security_of
    from tidelog.blocking.settings import ClusterSettings
    from tidelog.wire.messages.describe_cluster import DescribeClusterRequest

    given = yaml.safe_load((cluster.files / "spark-options.yaml").read_text())
    options = {name.removeprefix("kafka."): value for name, value in given.items()}
    servers = tuple(options.pop("bootstrap.servers").split(","))
    with closing(Brokers(ClusterSettings(servers, security_of(options, "kafka.")))) as brokers:
        answer = brokers.call_any(DescribeClusterRequest(), timeout_s=PATIENCE_S)
    assert len(answer.brokers) == 3


def test_our_own_commands_take_the_context(as_admin: Tidelog) -> None:
    assert as_admin("topic", "create", "greetings").code == 0
    assert as_admin("produce", "greetings", "Hello").code == 0
    assert "Hello" in as_admin("consume", "greetings").out
    assert as_admin("cluster", "quorum", "--json").code == 0


def test_users_come_and_go(as_admin: Tidelog) -> None:
    add = ("security", "user", "add", "alice", "--password-env", "SECRET")
    assert as_admin(*add, SECRET="first").code == 0
    assert as_admin(*add, SECRET="first").code == 4
    as_alice = ("-X", "sasl.username=alice", "-X", "sasl.password=first")
    denied = as_admin("security", "user", "list", *as_alice)
    assert denied.code == 8
    assert "authoriz" in denied.err.lower()
    assert as_admin("topic", "create", "alices", *as_alice).code == 8
    passwd = ("security", "user", "passwd", "alice", "--password-env", "SECRET")
    assert as_admin(*passwd, SECRET="second").code == 0
    assert as_admin("topic", "list", *as_alice).code == 8
    listed = as_admin("security", "user", "list", "--json").json
    assert [user["user"] for user in listed] == ["admin", "alice"]
    assert as_admin("security", "user", "delete", "alice").code == 0
    assert as_admin("security", "user", "delete", "alice").code == 3


def test_tokens_come_and_go(as_admin: Tidelog, tmp_path: Path) -> None:
    made = as_admin("security", "token", "create", "--max-life", "1h", "--json").json
    assert made["owner"] == "User:admin"
    [listed] = as_admin("security", "token", "list", "--json").json
    assert listed["token_id"] == made["token_id"]
    assert "hmac" not in listed
    secret = tmp_path / "secret"
    secret.write_text(made["hmac"])
    assert as_admin("security", "token", "renew", "--hmac-file", str(secret)).code == 0
    assert as_admin("security", "token", "expire", "--hmac-env", "HMAC", HMAC=made["hmac"]).code == 0
    assert as_admin("security", "token", "list", "--json").json == []


def test_a_wrong_password_is_refused_with_a_reason(as_admin: Tidelog) -> None:
    refused = as_admin("topic", "list", "-X", "sasl.password=very-wrong")
    assert refused.code == 8
    assert "very-wrong" not in refused.out + refused.err


def test_a_plain_client_is_refused_with_a_reason(cluster: SecuredCluster, tidelog: Tidelog) -> None:
    refused = tidelog("topic", "list", "-b", cluster.properties["bootstrap.servers"])
    assert refused.code != 0
    assert "security.protocol" in refused.err


def test_a_client_without_a_certificate_is_no_broker(cluster: SecuredCluster, tidelog: Tidelog) -> None:
    port, *_ = json.loads((cluster.files / "secured.json").read_text())["broker_ports"]
    tls = ("-X", "security.protocol=ssl", "-X", f"ssl.ca.location={cluster.files / 'ca.pem'}")
    refused = tidelog("cluster", "brokers", "-b", f"localhost:{port}", *tls)
    assert refused.code in (5, 8), refused.err


def test_check_finds_nothing_serious_here(as_admin: Tidelog) -> None:
    checked = as_admin("security", "check", "--json")
    assert checked.json == {"serious": 0, "findings": []}
    assert checked.code == 0


def test_check_finds_what_is_open_in_a_plain_cluster(tidelog: Tidelog, broker: BrokerProcess) -> None:
    checked = tidelog("security", "check", "--json", "-b", broker.address)
    assert checked.code == 1, checked.err
    assert {finding["code"] for finding in checked.json["findings"]} == {"no-authorizer", "plain-listener"}


def test_no_secret_is_on_the_screen_or_in_the_process_list(cluster: SecuredCluster) -> None:
    password = cluster.properties["sasl.password"]
    shown = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
    assert "BROKERS://" in shown
    assert password not in shown + cluster.fleet.said()


def test_a_plain_directory_is_secured_keeps_its_data_and_stays_secured(
    tidelog: Tidelog, tmp_path: Path
) -> None:
    plain = FleetProcess(tmp_path, "--port", "0")
    assert tidelog("topic", "create", "before", "-b", plain.servers).code == 0
    assert tidelog("produce", "before", "kept", "-b", plain.servers).code == 0
    assert plain.stop() == 0
    for options in (["--secure"], [], ["--secure"]):
        if options and (tmp_path / "data" / "security").exists():
            shutil.rmtree(tmp_path / "data" / "security")  # lost keys and passwords: new ones are made
        up = FleetProcess(tmp_path, "--port", "0", *options)
        read = tidelog("--context", up.facts["context"], "consume", "before")
        assert "kept" in read.out, read.err + up.said()
        assert tidelog("topic", "list", "-b", up.servers).code != 0
        assert up.stop() == 0


def test_a_secured_machine_of_two_cores_and_back_to_one(tidelog: Tidelog, tmp_path: Path) -> None:
    """One certificate, one user, one set of client files; a change of the cores goes by its own login."""
    [port] = free_ports("localhost", 1, in_a_row=2)
    two = FleetProcess(tmp_path, "--secure", "--cores", "2", "--port", str(port))
    as_admin = ("--context", two.facts["context"])
    assert tidelog(*as_admin, "topic", "create", "orders", "--partitions", "2").code == 0
    described = tidelog(*as_admin, "topic", "describe", "orders", "--json").json
    led = {partition["leader"]: partition["partition"] for partition in described[0]["partitions"]}
    assert set(led) == {1, 1001}
    assert tidelog(*as_admin, "produce", "orders", "kept", "--partition", str(led[1001])).code == 0
    assert tidelog("topic", "list", "-b", f"localhost:{port + 1}").code != 0
    assert two.stop() == 0

    one = FleetProcess(tmp_path, "--port", str(port))
    eventually(lambda: "Broker 1001 is drained and gone" in one.said(), 60)
    read = tidelog(*as_admin, "consume", "orders")
    assert "kept" in read.out, read.err
    assert one.stop() == 0


def test_the_machines_of_a_secured_cluster_get_cores_and_lose_them(tidelog: Tidelog, tmp_path: Path) -> None:
    """Both machines move replicas at the same time, and each goes by its own login."""
    one_each = FleetProcess(tmp_path, "--secure", "--brokers", "2", "--port", "0")
    servers, as_admin = one_each.servers, ("--context", one_each.facts["context"])
    assert tidelog(*as_admin, "topic", "create", "orders", "--partitions", "4").code == 0
    for number in range(4):
        assert tidelog(*as_admin, "produce", "orders", str(number), "--partition", str(number)).code == 0
    assert one_each.stop() == 0

    two_each = FleetProcess(tmp_path, "--cores", "2")
    assert two_each.servers == servers, "clients find the cluster where it was"
    eventually(lambda: two_each.said().count("The replicas are spread over the cores.") == 2, 60)
    described = tidelog(*as_admin, "topic", "describe", "orders", "--json").json[0]["partitions"]
    replicas = [partition["replicas"] for partition in described]
    assert {broker for placed in replicas for broker in placed} == {1, 1001, 2, 1002}
    assert all({broker % 1000 for broker in placed} == {1, 2} for placed in replicas)
    assert tidelog("topic", "list", "-b", two_each.facts["brokers"][1]["bootstrap_servers"]).code != 0
    assert two_each.stop() == 0

    one_each = FleetProcess(tmp_path, "--cores", "1")
    eventually(lambda: one_each.said().count("is drained and gone.") == 2, 60)
    assert not list(tmp_path.glob("data/*/cores"))
    assert sorted(tidelog(*as_admin, "consume", "orders").out.split()) == ["0", "1", "2", "3"]
    assert one_each.stop() == 0


def test_a_broker_by_init_begins_with_the_first_user(tidelog: Tidelog, tmp_path: Path) -> None:
    files = tmp_path / "security"
    assert tidelog("security", "init", "--broker", "1=localhost", "--directory", str(files)).code == 0
    log_dir, ready = tmp_path / "data", tmp_path / "ready.json"
    log_dir.mkdir()
    bootstrap = log_dir / "security.bootstrap"
    shutil.copy(files / "security.bootstrap", bootstrap)
    clients, brokers = free_port(), free_port()
    listeners = f"CLIENTS://localhost:{clients},BROKERS://localhost:{brokers}"
    start = [console_script(), "broker", "--config", str(files / "broker-1.yaml"), "--data", str(log_dir)]
    for name, value in {
        "listeners": listeners,
        "advertised.listeners": listeners,
        "controller.quorum.voters": f"1@localhost:{brokers}",
    }.items():
        start += ["--set", f"{name}={value}"]
    bootstrap.write_bytes(bootstrap.read_bytes().replace(b'"admin"', b'"nimda"'))
    refused = subprocess.run(start, capture_output=True, text=True, timeout=60, check=False)
    assert refused.returncode == 1
    assert "security.bootstrap is damaged or was changed" in refused.stderr

    shutil.copy(files / "security.bootstrap", bootstrap)
    process = subprocess.Popen([*start, "--ready-file", str(ready)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not ready.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        pairs = [
            text
            for name, value in parse_properties((files / "client.properties").read_text()).items()
            if name != "bootstrap.servers"
            for text in ("-X", f"{name}={value}")
        ]
        listed = tidelog("security", "user", "list", "--json", "-b", f"localhost:{clients}", *pairs)
        assert [user["user"] for user in listed.json] == ["admin"]
        assert not bootstrap.exists()
    finally:
        process.terminate()
        process.wait(PATIENCE_S)
