"""Roles as decisions."""

import msgspec
import pytest

from tidelog.base.errors import ErrorCode
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.security import Grant
from tidelog.metadata.security.acls import ACLS_MAX
from tidelog.metadata.security.roles import (
    RoleChange,
    RoleChangeKind,
    decide_alter_roles,
    decide_change_members,
    decide_delete_role,
    decide_put_role,
)
from tidelog.security.acls.vocabulary import Operation, PatternType, ResourceType

GRANT = Grant(ResourceType.TOPIC, PatternType.PREFIXED, "orders.", (Operation.READ, Operation.DESCRIBE))
OTHER = Grant(ResourceType.GROUP, PatternType.LITERAL, "g", (Operation.READ,))


def after(image, decision):
    assert decision.results[0].ok, decision.results[0].message
    return advance(image, decision.records).after


def analysts():
    return after(ClusterImage(), decide_put_role(ClusterImage(), "analyst", [GRANT]))


def test_grant_and_revoke() -> None:
    image = after(analysts(), decide_change_members(analysts(), "analyst", add=["User:bob", "User:alice"]))
    assert image.security.roles["analyst"].principals == ("User:alice", "User:bob")
    assert {(acl.principal, acl.operation) for acl in image.security.all_acls()} == {
        (user, operation) for user in ("User:alice", "User:bob") for operation in GRANT.operations
    }
    assert not decide_change_members(image, "analyst", add=["User:bob"]).records
    image = after(image, decide_change_members(image, "analyst", remove=["User:bob"]))
    assert image.security.roles["analyst"].principals == ("User:alice",)


def test_put_again() -> None:
    image = analysts()
    assert not decide_put_role(image, "analyst", [GRANT]).records
    image = after(image, decide_put_role(image, "analyst", [OTHER]))
    assert image.security.roles["analyst"].grants == (OTHER,)


def test_delete() -> None:
    image = analysts()
    assert not after(image, decide_delete_role(image, "analyst")).security.roles


@pytest.mark.parametrize(
    ("name", "grants"),
    [
        ("", [GRANT]),
        ("a b", [GRANT]),
        ("x" * 101, [GRANT]),
        ("a", []),
        ("a", [Grant(ResourceType.ANY, PatternType.LITERAL, "x", (Operation.READ,))]),
        ("a", [Grant(ResourceType.TOPIC, PatternType.LITERAL, "", (Operation.READ,))]),
    ],
)
def test_roles_that_are_refused(name, grants) -> None:
    decision = decide_put_role(ClusterImage(), name, grants)
    assert decision.results[0].error is ErrorCode.INVALID_REQUEST
    assert not decision.records


def test_a_role_that_is_not_there() -> None:
    for decision in (
        decide_delete_role(analysts(), "reader"),
        decide_change_members(analysts(), "reader", add=["User:a"]),
    ):
        assert decision.results[0].error is ErrorCode.RESOURCE_NOT_FOUND
        assert "there are: analyst" in decision.results[0].message


def test_members_that_cannot_be() -> None:
    assert decide_change_members(analysts(), "analyst", add=["bob"]).results[0].error is (
        ErrorCode.INVALID_PRINCIPAL_TYPE
    )
    assert (
        "not granted to User:x"
        in decide_change_members(analysts(), "analyst", remove=["User:x"]).results[0].message
    )


def test_changes_of_one_request_build_on_each_other() -> None:
    changes = [
        RoleChange("analyst", RoleChangeKind.CREATE, [GRANT]),
        RoleChange("analyst", RoleChangeKind.GRANT, principals=["User:reports"]),
        RoleChange("analyst", RoleChangeKind.CREATE, [GRANT]),
        RoleChange("none", RoleChangeKind.DELETE),
        RoleChange("analyst", 9),
        RoleChange("empty", RoleChangeKind.CREATE, [msgspec.structs.replace(GRANT, operations=())]),
    ]
    decision = decide_alter_roles(ClusterImage(), changes)
    assert [result.error for result in decision.results] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.DUPLICATE_RESOURCE,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
    ]
    image = advance(ClusterImage(), decision.records).after
    assert image.security.roles["analyst"].principals == ("User:reports",)

    write = msgspec.structs.replace(GRANT, operations=(Operation.WRITE,))
    replaced = decide_alter_roles(
        image,
        [
            RoleChange("analyst", RoleChangeKind.REPLACE, [write]),
            RoleChange("analyst", RoleChangeKind.REVOKE, principals=["User:reports"]),
        ],
    )
    role = advance(image, replaced.records).after.security.roles["analyst"]
    assert (role.grants, role.principals) == ((write,), ())


def test_a_role_does_not_grow_beyond_the_limit_of_acls() -> None:
    image = advance(
        ClusterImage(),
        decide_alter_roles(ClusterImage(), [RoleChange("analyst", RoleChangeKind.CREATE, [GRANT])]).records,
    ).after
    crowd = [f"User:{number}" for number in range(ACLS_MAX + 1)]
    decision = decide_change_members(image, "analyst", add=crowd)
    assert decision.results[0].error is ErrorCode.INVALID_REQUEST
    assert not decision.records
