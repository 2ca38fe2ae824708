"""AlterClientQuotas and DescribeClientQuotas, from request to response."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.quotas import alter_client_quotas, describe_client_quotas
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
)
from tidelog.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

RATE = "producer_byte_rate"


class Broker:
    """The image, and the principal's operations on the cluster."""

    def __init__(self, *allowed: Operation) -> None:
        self.image = ClusterImage()
        self._allowed = allowed

    async def change(self, decide: Any) -> Any:
        decision = decide(self.image)
        self.image = advance(self.image, decision.records).after
        return decision.results

    @property
    def context(self) -> Any:
        services = SimpleNamespace(metadata=self)
        return SimpleNamespace(services=services, allows_on_cluster=lambda asked: asked in self._allowed)

    def alter(self, *entries: AlterClientQuotasRequestEntryData, **more: Any) -> AlterClientQuotasResponse:
        request = AlterClientQuotasRequest(entries=list(entries), **more)
        return asyncio.run(alter_client_quotas.handle(self.context, request))

    def describe(self, *components: ComponentData, strict: bool = False) -> DescribeClientQuotasResponse:
        request = DescribeClientQuotasRequest(components=list(components), strict=strict)
        return describe_client_quotas.handle(self.context, request)

    def described(self, *components: ComponentData, strict: bool = False) -> Any:
        response = self.describe(*components, strict=strict)
        assert response.error_code == 0
        return [
            (
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]


def admin() -> Broker:
    return Broker(Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS)


def entry(entity: dict[str, str | None], **limits: float | None) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in limits.items()],
    )


def exactly(kind: str, name: str) -> ComponentData:
    return ComponentData(entity_type=kind, match_type=0, match=name)


def test_a_quota_is_set_described_and_removed() -> None:
    broker = admin()
    alice = {"user": "alice", "client-id": None}
    assert [answer.error_code for answer in broker.alter(entry(alice, producer_byte_rate=10)).entries] == [0]
    assert broker.described(exactly("user", "alice")) == [(alice, {RATE: 10.0})]
    assert broker.described(exactly("user", "alice"), strict=True) == []
    broker.alter(entry(alice, producer_byte_rate=None))
    assert broker.described() == []


def test_an_entity_that_is_refused_leaves_the_others() -> None:
    broker = admin()
    response = broker.alter(
        entry({"user": ""}, producer_byte_rate=10), entry({"user": None}, producer_byte_rate=20)
    )
    assert [answer.error_code for answer in response.entries] == [ErrorCode.INVALID_REQUEST, 0]
    assert response.entries[0].entity == [EntityData(entity_type="user", entity_name="")]
    assert broker.described() == [({"user": None}, {RATE: 20.0})]


def test_a_request_that_only_validates_changes_nothing() -> None:
    broker = admin()
    [answer] = broker.alter(entry({"user": "alice"}, producer_byte_rate=1), validate_only=True).entries
    assert answer.error_code == 0
    assert broker.described() == []


@pytest.mark.parametrize(
    ("component", "code"),
    [
        (ComponentData(entity_type="user", match_type=0), ErrorCode.INVALID_REQUEST),
        (ComponentData(entity_type="user", match_type=1, match="alice"), ErrorCode.INVALID_REQUEST),
        (ComponentData(entity_type="user", match_type=2, match="alice"), ErrorCode.INVALID_REQUEST),
        (ComponentData(entity_type="user", match_type=3), ErrorCode.INVALID_REQUEST),
        (ComponentData(entity_type="planet", match_type=1), ErrorCode.UNSUPPORTED_VERSION),
    ],
    ids=["no name", "a name and the default", "a name and any", "an unknown match", "an unknown entity"],
)
def test_a_filter_that_is_refused(component: ComponentData, code: ErrorCode) -> None:
    response = admin().describe(component)
    assert response.error_code == code
    assert response.entries is None


def test_addresses_are_not_filtered_together_with_users() -> None:
    response = admin().describe(exactly("user", "alice"), exactly("ip", "192.0.2.1"))
    assert response.error_code == ErrorCode.INVALID_REQUEST


def test_alter_needs_alter_configs_on_the_cluster() -> None:
    broker = Broker(Operation.DESCRIBE_CONFIGS)
    [answer] = broker.alter(entry({"user": "alice"}, producer_byte_rate=1)).entries
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert broker.described() == []


def test_describe_needs_describe_configs_on_the_cluster() -> None:
    response = Broker(Operation.ALTER_CONFIGS).describe()
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
