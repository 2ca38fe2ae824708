"""Forward: a request of another time, or of a process that is gone, changes nothing."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.base.errors import ErrorCode, ProtocolError
from tidelog.broker.handlers.between_brokers.forward import handle
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.forwarded_once import ForwardedOnce
from tidelog.broker.requests.tries import Tries
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse

PROCESS, EARLIER_PROCESS = bytes([2]) * 16, bytes([1]) * 16


class Controller:
    """Broker 1 in term 5; broker 2 is registered."""

    def __init__(self) -> None:
        image = SimpleNamespace(cluster_id="c", brokers={2: SimpleNamespace(incarnation=PROCESS)})
        self.metadata = SimpleNamespace(image=image, is_controller=True, term=5, version=7)
        self.forwarded_once = ForwardedOnce()
        self.served: list[Tries | None] = []

    async def answer_forwarded(
        self, frame: memoryview, connection: ClientConnection, tries: Tries | None
    ) -> bytes:
        self.served.append(tries)
        if not frame:
            raise ProtocolError("a request of 0 bytes has no header")
        return bytes(frame)

    async def ask(self, **given: Any) -> ForwardResponse:
        usual: dict[str, Any] = {"broker_id": 2, "incarnation": PROCESS, "term": 5, "cluster_id": "c"}
        context: Any = SimpleNamespace(services=self, allows_on_cluster=lambda _: True)
        return await handle(context, ForwardRequest(**({"request_data": b"asked"} | usual | given)))


def test_bytes_that_are_no_request_are_refused() -> None:
    answer = asyncio.run(Controller().ask(request_data=b""))
    assert answer == ForwardResponse(error_code=ErrorCode.INVALID_REQUEST)


def test_a_request_of_the_present_is_served_with_its_tries() -> None:
    controller = Controller()
    answer = asyncio.run(controller.ask(token=b"t", attempt=3))
    assert answer == ForwardResponse(metadata_version=7, response_data=b"asked")
    assert controller.served == [Tries(b"t", 3)]


@pytest.mark.parametrize(
    "late",
    [{"term": 4}, {"term": 6}, {"incarnation": EARLIER_PROCESS}, {"broker_id": 3}],
    ids=["of an earlier term", "of a later term", "of a process that is gone", "of a stranger"],
)
def test_a_request_of_another_time_is_not_for_this_controller(late: dict[str, Any]) -> None:
    controller = Controller()
    assert asyncio.run(controller.ask(**late)).error_code == ErrorCode.NOT_CONTROLLER
    assert not controller.served


def test_a_request_is_not_served_once_the_term_is_over() -> None:
    """Between its arrival and its turn this broker may have been replaced, and lead anew."""
    controller = Controller()

    async def life() -> ForwardResponse:
        asking = asyncio.get_running_loop().create_task(controller.ask())
        await asyncio.sleep(0)
        controller.metadata.term = 7
        return await asking

    assert asyncio.run(life()).error_code == ErrorCode.NOT_CONTROLLER
    assert not controller.served


def test_another_clusters_request_is_refused() -> None:
    assert asyncio.run(Controller().ask(cluster_id="d")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
