"""FindCoordinator for the state of share groups: keys are checked, and only brokers may ask."""

import pytest

from tests.rigs.share_states import StateCluster
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode
from tidelog.broker.coordinators.key_types import KeyType
from tidelog.broker.handlers.groups.find_coordinator import handle
from tidelog.broker.requests.answer import response_of
from tidelog.broker.requests.client_connection import ClientConnection
from tidelog.broker.requests.context import Context
from tidelog.broker.security.authorizer import Authorizer
from tidelog.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest

KEY = "workers:AAECAwQFBgcICQoLDA0ODw:3"


def find(cluster: StateCluster, *keys: str, authorizer: Authorizer | None = None) -> list[Coordinator]:
    broker = cluster.brokers[1]
    services = broker.services
    services.coordinators, services.metadata, services.authorizer = broker.runtime, broker, authorizer
    services.denials, services.audit = {}, None
    context = Context(services, ClientConnection("192.0.2.1", 5, "BROKERS"), 6, "n")
    request = FindCoordinatorRequest(key_type=KeyType.SHARE, coordinator_keys=list(keys))

    async def main() -> list[Coordinator]:
        response = await response_of(handle(context, request))
        return list(response.coordinators)

    return run(main())


def codes(found: list[Coordinator]) -> list[ErrorCode]:
    return [ErrorCode(one.error_code) for one in found]


def test_the_first_request_creates_the_topic() -> None:
    cluster = StateCluster()
    assert codes(find(cluster, KEY)) == [ErrorCode.COORDINATOR_NOT_AVAILABLE], "no broker is reachable here"
    assert cluster.brokers[1].states.service.has_topic


@pytest.mark.parametrize("key", ["", "workers", "workers:3", "workers:AAECAwQFBgcICQoLDA0ODw:x"])
def test_a_malformed_key_is_refused_and_creates_nothing(key: str) -> None:
    cluster = StateCluster()
    [found] = find(cluster, key)
    assert found.error_code == ErrorCode.INVALID_REQUEST
    assert "group:topic id:partition" in (found.error_message or "")
    assert not cluster.brokers[1].states.service.has_topic


def test_only_brokers_may_ask() -> None:
    cluster = StateCluster()
    found = find(cluster, KEY, authorizer=Authorizer([]))
    assert codes(found) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert not cluster.brokers[1].states.service.has_topic
