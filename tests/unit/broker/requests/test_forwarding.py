"""Requests for the controller: an answer of a broker that has ceased to be it is none."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode
from tidelog.broker.peers.peers import PeerUnavailable
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.forwarding import Forwarding, is_refused_as_controller
from tidelog.broker.requests.tries import Tries
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import read_request_header, write_response
from tidelog.wire.message import Message
from tidelog.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from tidelog.wire.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tidelog.wire.messages.forward import ForwardRequest, ForwardResponse

REFUSED, DONE = ErrorCode.NOT_CONTROLLER, ErrorCode.NONE
PROCESS = bytes(range(16))


def created(*codes: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[CreatableTopicResult(name="t", error_code=code) for code in codes])


def moved(code: int) -> AlterPartitionReassignmentsResponse:
    partitions = [ReassignablePartitionResponse(partition_index=0, error_code=code)]
    return AlterPartitionReassignmentsResponse(
        responses=[ReassignableTopicResponse(name="t", partitions=partitions)]
    )


@pytest.mark.parametrize(
    ("answer", "is_refused"),
    [
        (created(DONE, DONE), False),
        (created(ErrorCode.TOPIC_ALREADY_EXISTS), False),
        (created(DONE, REFUSED), True),
        (moved(DONE), False),
        (moved(REFUSED), True),
        (AlterPartitionReassignmentsResponse(error_code=REFUSED), True),
    ],
)
def test_a_refusal_is_found_wherever_it_stands(answer: Message, is_refused: bool) -> None:
    assert is_refused_as_controller(answer) is is_refused


class FakePeers:
    """This broker decides with `own`; another one, once asked, creates the topic."""

    def __init__(self, own: CreateTopicsResponse) -> None:
        self._own = own
        self.asked_another = False
        self.version = 0
        """Of the metadata that the other's answer stands on."""

    async def call_here(self, api_key: int, version: int, request: Message) -> CreateTopicsResponse:
        return self._own

    async def call_controller(
        self, api_key: int, version: int, make: Callable[[], ForwardRequest], **_: float
    ) -> ForwardResponse:
        self.asked_another = True
        header, _at = read_request_header(memoryview(make().request_data))
        parts = write_response(header.api_key, header.api_version, header.correlation_id, created(DONE))
        answer = b"".join(bytes(part) for part in parts)[4:]  # type: ignore[arg-type]
        return ForwardResponse(metadata_version=self.version, response_data=answer)


@pytest.mark.parametrize(("own", "asks_another"), [(DONE, False), (REFUSED, True)])
def test_a_broker_that_ceased_to_be_controller_asks_the_next(own: ErrorCode, asks_another: bool) -> None:
    peers = FakePeers(created(own))

    async def until(version: int) -> None:
        pass

    metadata = SimpleNamespace(
        decides_here=True, node_id=1, term=1, image=SimpleNamespace(cluster_id="c"), until=until
    )
    forwarding = Forwarding(metadata, peers, PROCESS)  # type: ignore[arg-type]
    answer = asyncio.run(forwarding.ask_controller(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest()))
    assert answer.topics[0].error_code == DONE
    assert peers.asked_another is asks_another


def test_a_broker_that_stops_waits_for_no_controller() -> None:
    class NobodyLeads:
        call_here = None

        async def call_controller(self, *_: Any, **__: Any) -> ForwardResponse:
            await asyncio.sleep(30)
            raise ConnectionError("no controller is known")

    async def life() -> None:
        image = SimpleNamespace(cluster_id="c")
        metadata: Any = SimpleNamespace(node_id=1, image=image, decides_here=False)
        peers: Any = NobodyLeads()
        forwarding = Forwarding(metadata, peers, PROCESS)
        asking = asyncio.get_running_loop().create_task(forwarding.pass_on(b"x", ClientConnection("", 0, "")))
        await asyncio.sleep(0.01)
        forwarding.close()
        done, _ = await asyncio.wait([asking], timeout=1)
        assert done
        assert isinstance(asking.exception(), OSError)
        with pytest.raises(PeerUnavailable, match="stopping"):
            await asyncio.wait_for(forwarding.pass_on(b"x", ClientConnection("", 0, "")), 1)

    run(life())


def test_a_broker_that_stops_waits_for_no_change() -> None:
    """It hears of none any more, and the client asks another broker next."""
    peers: Any = FakePeers(created(DONE))

    async def life() -> None:
        metadata: Any = SimpleNamespace(
            decides_here=False, node_id=1, term=1, image=SimpleNamespace(cluster_id="c"), until=asyncio.sleep
        )
        forwarding = Forwarding(metadata, peers, PROCESS)
        peers.version = 4
        ask = forwarding.ask_controller(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest())
        asking = asyncio.get_running_loop().create_task(ask)
        await asyncio.sleep(0.01)
        assert not asking.done()
        forwarding.leave()
        assert (await asyncio.wait_for(asking, 0.1)).topics[0].error_code == DONE
        late = forwarding.ask_controller(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest())
        assert (await asyncio.wait_for(late, 0.1)).topics[0].error_code == DONE

    run(life())


def test_each_try_says_when_and_by_which_process_it_is_made() -> None:
    """So that the controller knows it again, and knows when it is late."""
    made: list[ForwardRequest] = []

    class TriedTwice:
        async def call_controller(
            self, api_key: int, version: int, make: Callable[[], ForwardRequest], **_: float
        ) -> ForwardResponse:
            made.append(make())
            metadata.term += 1
            await asyncio.sleep(1)
            made.append(make())
            return ForwardResponse(response_data=b"done")

    async def life() -> None:
        peers: Any = TriedTwice()
        forwarding = Forwarding(metadata, peers, PROCESS)
        first = asyncio.ensure_future(
            forwarding.pass_on(b"x", ClientConnection("", 0, ""), Tries(b"token", 0))
        )
        await asyncio.sleep(0.5)
        second = asyncio.ensure_future(forwarding.pass_on(b"y", ClientConnection("", 0, "")))
        await asyncio.gather(first, second)

    metadata: Any = SimpleNamespace(
        node_id=4, term=1, image=SimpleNamespace(cluster_id="c"), until=lambda _: asyncio.sleep(0)
    )
    run(life())
    assert {(request.broker_id, request.incarnation) for request in made} == {(4, PROCESS)}
    assert [(bytes(request.request_data), request.number, request.floor) for request in made] == [
        (b"x", 0, 0),
        (b"y", 1, 0),
        (b"x", 0, 0),
        (b"y", 1, 1),
    ]
    assert [request.term for request in made] == [1, 2, 3, 3]
    assert [(request.token, request.attempt) for request in made[::2]] == [(b"token", 1), (b"token", 2)]
