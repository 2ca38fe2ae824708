"""Fixtures of the fault tests: a real broker with its log in sight. A traceback in it fails the test."""

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.echo_server import TLS_LOOPS, Running
from tests.faults.raw_client import RawClient
from tidelog.server.connection.limits import ConnectionLimits
from tidelog.testing import Broker


@pytest.fixture(autouse=True)
def broker_log() -> Iterator[Lines]:
    lines = Lines()
    loggers = [logging.getLogger("tidelog"), logging.getLogger("asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(lines)
        logger.setLevel(logging.INFO)
    yield lines
    for logger, level in zip(loggers, levels, strict=True):
        logger.removeHandler(lines)
        logger.setLevel(level)


@pytest.fixture
def no_failures(broker_log: Lines) -> Iterator[None]:
    yield
    assert not broker_log.failures


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One broker for the tests of a file; each uses topics of its own."""
    with Broker(settings={"auto.create.topics.enable": False}) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port) as connected:
        yield connected


@pytest.fixture(params=TLS_LOOPS)
def start(request: pytest.FixtureRequest) -> Iterator[Callable[..., Running]]:
    """Starts servers with the limits that are given, without a broker behind them."""
    running: list[Running] = []

    def begin(**limits: float) -> Running:
        running.append(Running(request.param, ConnectionLimits(**limits)))  # type: ignore[arg-type]
        return running[-1]

    yield begin
    for each in running:
        each.stop()
