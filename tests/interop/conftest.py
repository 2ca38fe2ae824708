"""Fixtures of the interop suite: a broker in its own process, and every Kafka client there is to talk to it.

TIDELOG_INTEROP_BOOTSTRAP=host:port (with TIDELOG_INTEROP_DATA, its log dir) runs the same tests against a
broker that is already up; that is how apache_kafka.py proves that what they expect is what Apache Kafka does.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.interop.all_drivers import CLIENTS
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.broker_process import BrokerProcess
from tests.interop.command_line import Done, Tidelog, run_here
from tests.interop.driver import Refused
from tests.interop.kafka_jars import missing_tool
from tests.interop.waiting import eventually


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `client` runs once for each client that has the methods its `needs` mark names.

    With `assignor`, it runs once for each assignor that the client brings.
    """
    if "client" in metafunc.fixturenames:
        needed = [name for mark in metafunc.definition.iter_markers("needs") for name in mark.args]
        able = [
            name
            for name, client in CLIENTS.items()
            if all(hasattr(client.driver, method) for method in needed)
        ]
        if "assignor" in metafunc.fixturenames:
            pairs = [(name, assignor) for name in able for assignor in CLIENTS[name].driver.assignors]
            metafunc.parametrize(("client", "assignor"), pairs, indirect=["client"], scope="session")
        else:
            metafunc.parametrize("client", able, indirect=True, scope="session")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*methods): run for every client whose driver has these methods")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    running = BrokerProcess.of_environment() or BrokerProcess.start(tmp_path_factory.mktemp("broker"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def apache_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    """Three brokers of Apache Kafka, to see what a cluster is to do."""
    if (missing := missing_tool()) is not None:
        pytest.skip(missing)
    running = ApacheCluster(tmp_path_factory.mktemp("apache-cluster"))
    yield running
    running.stop()


@pytest.fixture(scope="session")
def broker_address(broker: BrokerProcess) -> str:
    return broker.address


@pytest.fixture
def tidelog(
    broker_address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Tidelog:
    """Runs a command in this process; `stdin` is what is piped into it, `typed` what a person types."""

    def call(*arguments: str, stdin: bytes = b"", typed: bytes | None = None) -> Done:
        return run_here(capsys, monkeypatch, ["-b", broker_address, *arguments], stdin, typed)

    return call


@pytest.fixture(scope="session")
def open_client(broker_address: str) -> Iterator[Callable[[str], Any]]:
    """Clients by name, each opened once: a JVM, a Node.js and a Go process serve the whole session."""
    opened: dict[str, Any] = {}
    with ExitStack() as stack:

        def open_one(name: str) -> Any:
            if name not in opened:
                client = CLIENTS[name]
                if client.missing_tool is not None:
                    pytest.skip(client.missing_tool)
                opened[name] = client.driver(broker_address)
                stack.callback(opened[name].close)
            return opened[name]

        yield open_one


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest, open_client: Callable[[str], Any]) -> Any:
    return open_client(request.param)


@pytest.fixture(scope="session")
def reference(open_client: Callable[[str], Any]) -> Any:
    """The client that prepares and checks what another one is tested with."""
    return open_client("confluent")


@pytest.fixture(scope="session")
def witness(open_client: Callable[[str], Any]) -> Any:
    """As `reference`, for committed offsets: confluent-kafka garbles the words beside them."""
    return open_client("kafka-python")


@pytest.fixture
def topic_name(request: pytest.FixtureRequest) -> str:
    """A name that no other test, worker or run uses."""
    words = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"{words[:80]}-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def make_topic(reference: Any, topic_name: str) -> Iterator[Callable[..., str]]:
    made: list[str] = []

    def make(partitions: int = 1, **configs: str) -> str:
        name = f"{topic_name}-{len(made)}"
        reference.create_topic(
            name, partitions, configs={key.replace("_", "."): text for key, text in configs.items()}
        )
        made.append(name)
        eventually(lambda: len(reference.describe_topic(name)) == partitions)
        return name

    yield make
    for name in made:
        try:
            reference.delete_topic(name)
        except Refused:
            pass  # the test deleted it


@pytest.fixture
def group(topic_name: str) -> str:
    return f"group-{topic_name}"


@pytest.fixture
def opened() -> Iterator[list[Any]]:
    """Members of groups that end with the test, one after the other, however it ends."""
    members: list[Any] = []
    yield members
    for member in members:
        member.close()


@pytest.fixture
def topic(make_topic: Callable[..., str]) -> str:
    return make_topic()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    running = getattr(item, "funcargs", {}).get("broker")
    if report.failed and running is not None:
        report.sections.append(("the end of the broker's log", running.log_tail()))
    return report
