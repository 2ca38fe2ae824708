"""Clients that speak to the metadata quorum: whatever they say of themselves, the broker goes on."""

import pytest

from tests.faults.log_calls import create_topic
from tests.faults.odd_requests import E
from tests.faults.raw_client import RawClient
from tidelog.raft.messages import (
    AnyMessage,
    FindLeader,
    InstallSnapshotResponse,
    PreVote,
    RequestVoteResponse,
    TimeoutNow,
    encode,
)
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Listener,
)
from tidelog.wire.messages.raft import RaftMessage, RaftRequest

pytestmark = pytest.mark.usefixtures("no_failures")

STRANGER, ITS_DISK = 77, bytes(16)
TERM = 0


def say(client: RawClient, *messages: AnyMessage) -> None:
    request = RaftRequest(messages=[RaftMessage(data=encode(message)) for message in messages])
    client.send_request(ApiKey.RAFT, 0, request)


@pytest.mark.parametrize(
    "address", ["nonsense", "", ":", "host:", "host:99999", "host:0", "[]:1", "h\x00st:9092", "a" * 500]
)
def test_an_address_that_is_none(broker: Broker, client: RawClient, address: str) -> None:
    say(client, FindLeader(STRANGER, ITS_DISK, TERM, address))
    create_topic(client, f"topic-{abs(hash(address))}")
    say(client, PreVote(STRANGER, ITS_DISK, TERM, address, 0, 0))
    with RawClient(broker.port) as another:
        create_topic(another, f"another-{abs(hash(address))}")


def test_answers_that_nobody_asked_for(client: RawClient) -> None:
    say(
        client,
        RequestVoteResponse(STRANGER, ITS_DISK, TERM, granted=True),
        InstallSnapshotResponse(STRANGER, ITS_DISK, TERM, 5, 5, 5),
        TimeoutNow(STRANGER, ITS_DISK, TERM),
    )
    create_topic(client, "after-the-answers")


def register(client: RawClient, **fields: object) -> E:
    request = BrokerRegistrationRequest(
        broker_id=STRANGER,
        incarnation_id=b"i" * 16,
        listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=9092)],
        log_dirs=[b"d" * 16],
    )
    for name, value in fields.items():
        setattr(request, name, value)
    answer: BrokerRegistrationResponse = client.ask(ApiKey.BROKER_REGISTRATION, request)
    return E.of(answer.error_code)


@pytest.mark.parametrize(
    "fields",
    [
        {"broker_id": -1},
        {"broker_id": -(2**31)},
        {"listeners": []},
        {"listeners": [Listener(name="PLAINTEXT", host="", port=9092)]},
        {"listeners": [Listener(name="PLAINTEXT", host="h" * 1000, port=9092)]},
        {"listeners": [Listener(name="P" * 1000, host="h", port=9092)]},
        {"listeners": [Listener(name=f"L{n}", host="h", port=9092) for n in range(1000)]},
        {"listeners": [Listener(name="PLAINTEXT", host="h", port=0)]},
        {"rack": "r" * 30_000},
        {"log_dirs": [n.to_bytes(16, "big") for n in range(1, 100_000)]},
    ],
)
def test_a_broker_that_cannot_be_one(client: RawClient, fields: dict[str, object]) -> None:
    assert register(client, **fields) is E.INVALID_REGISTRATION
