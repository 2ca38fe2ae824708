"""An HTTP port that loads its server with the first client: those who come together are all served."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.http_thread import HttpThread, everything
from tidelog.server.http.limits import HttpLimits

CLIENTS = 12


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_the_first_clients_come_together(loop: str) -> None:
    with (
        HttpThread(loop, HttpLimits(), lazily=True) as port,
        ThreadPoolExecutor(CLIENTS) as clients,
    ):
        assert port.server.connection_count == 0
        answers = list(clients.map(lambda _: port.ask(), range(CLIENTS)))
        assert [answer.splitlines()[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * CLIENTS
        assert port.ask().endswith(b"Hello.\n")


def test_a_port_without_clients_closes() -> None:
    with HttpThread("asyncio", HttpLimits(), lazily=True):
        pass


def test_a_client_that_came_too_late_sees_the_end() -> None:
    with HttpThread("asyncio", HttpLimits(), lazily=True) as port:
        client = port.connect()
    with client:
        assert everything(client) == b""
