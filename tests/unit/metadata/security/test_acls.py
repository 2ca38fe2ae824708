"""CreateAcls and DeleteAcls as decisions."""

import msgspec
import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.security.acls import decide_create_acls, decide_delete_acls
from tidelog.security.acls.acl import Acl, AclFilter
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

READ_ORDERS = Acl(
    ResourceType.TOPIC, PatternType.LITERAL, "orders", "User:alice", "*", Operation.READ, Permission.ALLOW
)
WRITE_ORDERS = msgspec.structs.replace(READ_ORDERS, operation=Operation.WRITE)


def after(image, decision):
    return advance(image, decision.records).after


def test_create_twice_and_delete() -> None:
    image = ClusterImage()
    created = decide_create_acls(image, [READ_ORDERS, WRITE_ORDERS, READ_ORDERS])
    assert [result.ok for result in created.results] == [True] * 3
    image = after(image, created)
    assert image.security.acls == {READ_ORDERS, WRITE_ORDERS}
    assert decide_create_acls(image, [READ_ORDERS]).records == []

    deleted = decide_delete_acls(
        image, [AclFilter(operation=Operation.READ), AclFilter(resource_name="none")]
    )
    assert [result.acls for result in deleted.results] == [(READ_ORDERS,), ()]
    assert after(image, deleted).security.acls == {WRITE_ORDERS}


def test_filters_that_select_the_same() -> None:
    image = after(ClusterImage(), decide_create_acls(ClusterImage(), [READ_ORDERS]))
    deleted = decide_delete_acls(image, [AclFilter(), AclFilter()])
    assert [result.acls for result in deleted.results] == [(READ_ORDERS,)] * 2
    assert not after(image, deleted).security.acls


@pytest.mark.parametrize(
    "change",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_type": ResourceType.UNKNOWN},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": PatternType.ANY},
        {"operation": Operation.ANY},
        {"operation": Operation.UNKNOWN},
        {"permission": Permission.ANY},
        {"resource_name": ""},
        {"resource_name": "x" * 2000},
        {"resource_type": ResourceType.CLUSTER},
        {"host": ""},
    ],
)
def test_acls_that_are_refused_do_not_keep_others_away(change) -> None:
    bad = msgspec.structs.replace(READ_ORDERS, **change)
    decision = decide_create_acls(ClusterImage(), [bad, WRITE_ORDERS])
    assert [result.error for result in decision.results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert after(ClusterImage(), decision).security.acls == {WRITE_ORDERS}


@pytest.mark.parametrize("principal", ["", "alice", "User:", ":alice"])
def test_principals_that_are_none(principal) -> None:
    bad = msgspec.structs.replace(READ_ORDERS, principal=principal)
    assert decide_create_acls(ClusterImage(), [bad]).results[0].error is ErrorCode.INVALID_PRINCIPAL_TYPE


def test_a_filter_with_unknown_parts_deletes_nothing() -> None:
    image = after(ClusterImage(), decide_create_acls(ClusterImage(), [READ_ORDERS]))
    decision = decide_delete_acls(image, [AclFilter(operation=Operation.UNKNOWN)])
    assert decision.results[0].error is ErrorCode.INVALID_REQUEST
    assert not decision.records
