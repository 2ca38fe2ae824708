"""A request that a controller of an earlier release does not know is refused with the reason, at once."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.dispatch import Dispatcher
from tidelog.broker.requests.forwarding import FORWARDED
from tidelog.broker.requests.older_controller import COMES_WITH
from tidelog.broker.requests.routes import Routes
from tidelog.metadata.brokers.features import SUPPORTED_FEATURES
from tidelog.metadata.image.entities import BrokerImage
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import FeatureRange
from tidelog.wire.apis import API, ApiKey
from tidelog.wire.frame import read_response, write_request, write_response
from tidelog.wire.message import Message
from tidelog.wire.messages.alter_roles import AlterRolesRequest, RoleChange
from tidelog.wire.messages.can_stop_broker import CanStopBrokerRequest

OLD = (FeatureRange("metadata.version", 7, 30),)


class Controller:
    """What the requests are passed on to."""

    def __init__(self) -> None:
        self.asked = 0

    async def pass_on(self, frame: bytes, *_: object) -> bytes:
        self.asked += 1
        key = ApiKey(int.from_bytes(frame[:2], "big"))
        parts = write_response(key, int.from_bytes(frame[2:4], "big"), 7, API[key].response_class()())
        return b"".join(parts)[4:]  # type: ignore[arg-type]


def answered(features: tuple[FeatureRange, ...], key: ApiKey, request: Message) -> tuple[Any, int]:
    """Returns the response, and how often the controller was asked."""
    leading = BrokerImage(2, 0, bytes(16), {}, features=features)
    metadata = SimpleNamespace(decides_here=False, controller_id=2, image=ClusterImage(brokers={2: leading}))
    controller = Controller()
    services: Any = SimpleNamespace(
        throttle=None,
        inter_broker_listener="BROKERS",
        authorizer=None,
        metadata=metadata,
        forwarding=controller,
        random=SimpleNamespace(bytes=bytes),
    )
    dispatcher = Dispatcher(services, Routes({}))
    dispatcher.is_open = True
    version = API[key].max_version
    frame = memoryview(bytearray(b"".join(write_request(key, version, 7, "app", request))))[4:]  # type: ignore[arg-type]

    async def ask() -> Any:
        return await dispatcher.dispatch(frame, ClientConnection("192.0.2.1", 5555, "PLAINTEXT"))  # type: ignore[misc]

    reply = asyncio.run(ask())
    number, response = read_response(key, version, b"".join(reply.parts)[4:])
    assert number == 7
    return response, controller.asked


def test_the_reason_names_the_controller() -> None:
    response, asked = answered(OLD, ApiKey.CAN_STOP_BROKER, CanStopBrokerRequest(broker_id=1))
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert "broker 2, of an earlier release, which does not know CanStopBroker" in response.error_message
    assert asked == 0


def test_every_item_has_the_error() -> None:
    request = AlterRolesRequest(changes=[RoleChange(name="a"), RoleChange(name="b")])
    response, _ = answered(OLD, ApiKey.ALTER_ROLES, request)
    codes = [(result.name, result.error_code) for result in response.results]
    assert codes == [("a", ErrorCode.UNSUPPORTED_VERSION), ("b", ErrorCode.UNSUPPORTED_VERSION)]


@pytest.mark.parametrize("key", [ApiKey.ALTER_ROLES, ApiKey.CAN_STOP_BROKER])
def test_a_controller_of_this_version_is_asked(key: ApiKey) -> None:
    assert answered(SUPPORTED_FEATURES, key, API[key].request_class()())[1] == 1
    assert answered(OLD, key, API[key].request_class()())[1] == 0


def test_features_that_brokers_register() -> None:
    assert set(COMES_WITH.values()) <= {feature.name for feature in SUPPORTED_FEATURES}
    assert COMES_WITH.keys() <= FORWARDED
