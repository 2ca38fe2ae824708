"""Requests about ACLs and roles, also through a broker that is not the controller."""

from typing import Any

from tests.rigs.authorized_cluster import ADMIN, AuthorizedCluster, with_cluster
from tests.rigs.sample_requests.sample import TOPIC
from tidelog.base.errors import ErrorCode
from tidelog.metadata.decision import Decision
from tidelog.metadata.image.image import SECURITY_VERSION
from tidelog.metadata.image.records import FeatureChanged
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.alter_roles import AlterRolesRequest, RoleChange, RoleGrant
from tidelog.wire.messages.create_acls import AclCreation, CreateAclsRequest
from tidelog.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from tidelog.wire.messages.describe_acls import DescribeAclsRequest
from tidelog.wire.messages.describe_roles import DescribeRolesRequest
from tidelog.wire.messages.list_groups import ListGroupsRequest

ALICE = "User:alice"
READ, WRITE = Operation.READ, Operation.WRITE
EVERYTHING = DescribeAclsRequest(
    resource_type_filter=ResourceType.ANY,
    pattern_type_filter=PatternType.ANY,
    operation=Operation.ANY,
    permission_type=Permission.ANY,
)


def creation(operation: int, **changes: Any) -> AclCreation:
    fields: dict[str, Any] = {
        "resource_type": ResourceType.TOPIC,
        "resource_name": TOPIC,
        "principal": ALICE,
        "host": "*",
        "operation": operation,
        "permission_type": Permission.ALLOW,
    }
    return AclCreation(**(fields | changes))


async def create(
    cluster: AuthorizedCluster, principal: str, *acls: AclCreation, broker: int = 1
) -> list[int]:
    request = CreateAclsRequest(creations=list(acls))
    answer = await cluster.ask(principal, ApiKey.CREATE_ACLS, request, broker=broker)
    return [result.error_code for result in answer.results]


async def described(cluster: AuthorizedCluster, broker: int = 1) -> set[tuple[str, int]]:
    answer = await cluster.ask(ADMIN, ApiKey.DESCRIBE_ACLS, EVERYTHING, broker=broker)
    return {(of.resource_name, acl.operation) for of in answer.resources for acl in of.acls}


def test_deleting_one_of_several_leaves_the_others() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        assert await create(cluster, ADMIN, creation(READ), creation(WRITE), creation(READ)) == [0, 0, 0]
        assert await described(cluster) == {(TOPIC, READ), (TOPIC, WRITE)}
        chosen = DeleteAclsFilter(
            resource_type_filter=ResourceType.TOPIC,
            resource_name_filter=TOPIC,
            operation=READ,
            permission_type=Permission.ANY,
        )
        answer = await cluster.ask(ADMIN, ApiKey.DELETE_ACLS, DeleteAclsRequest(filters=[chosen]))
        [result] = answer.filter_results
        assert [(acl.operation, acl.principal) for acl in result.matching_acls] == [(READ, ALICE)]
        assert await described(cluster) == {(TOPIC, WRITE)}

    with_cluster(life)


def test_numbers_that_mean_nothing_are_refused() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        codes = await create(cluster, ADMIN, creation(99), creation(READ, resource_type=99), creation(READ))
        assert codes == [ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
        unknown = DescribeAclsRequest(resource_type_filter=99, operation=1, permission_type=1)
        answer = await cluster.ask(ADMIN, ApiKey.DESCRIBE_ACLS, unknown)
        assert answer.error_code == ErrorCode.INVALID_REQUEST

    with_cluster(life)


def test_the_original_principal_decides_also_on_the_controller() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        other = 1 + cluster.controller % 3
        refused = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
        assert await create(cluster, ALICE, creation(READ), broker=other) == refused
        role = AlterRolesRequest(changes=[RoleChange(name="r", kind=2)])
        answer = await cluster.ask(ALICE, ApiKey.ALTER_ROLES, role, broker=other)
        assert [result.error_code for result in answer.results] == refused
        assert await described(cluster, other) == set()
        assert await create(cluster, ADMIN, creation(READ), broker=other) == [0]
        assert await described(cluster, other) == {(TOPIC, READ)}, "the broker that was asked knows it"

    with_cluster(life, brokers=3)


def test_a_role_allows_what_it_says_until_it_is_revoked() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        grant = RoleGrant(
            resource_type=ResourceType.TOPIC,
            pattern_type=PatternType.PREFIXED,
            resource_name="ord",
            operations=[READ],
        )
        changes = [
            RoleChange(name="analyst", kind=0, grants=[grant]),
            RoleChange(name="analyst", kind=3, principals=[ALICE]),
        ]
        answer = await cluster.ask(ADMIN, ApiKey.ALTER_ROLES, AlterRolesRequest(changes=changes))
        assert [result.error_code for result in answer.results] == [0, 0]
        [role] = (await cluster.ask(ADMIN, ApiKey.DESCRIBE_ROLES, DescribeRolesRequest())).roles
        assert (role.name, role.principals, role.grants[0].resource_name) == ("analyst", [ALICE], "ord")
        authorizer = cluster.services().authorizer
        assert authorizer is not None
        asked = ALICE, "192.0.2.1", READ, ResourceType.TOPIC, TOPIC
        assert authorizer.allows(*asked)
        revoked = AlterRolesRequest(changes=[RoleChange(name="analyst", kind=4, principals=[ALICE])])
        await cluster.ask(ADMIN, ApiKey.ALTER_ROLES, revoked)
        assert not authorizer.allows(*asked)

    with_cluster(life)


def test_a_denial_for_an_address_holds_in_every_form_of_it() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.create_topic(TOPIC)
        denial = creation(READ, host="0:0:0:0:0:0:0:1", permission_type=Permission.DENY)
        assert await create(cluster, ADMIN, creation(READ), denial) == [0, 0]
        allows = cluster.services().authorizer.allows  # type: ignore[union-attr]
        assert allows(ALICE, "192.0.2.1", READ, ResourceType.TOPIC, TOPIC)
        assert not allows(ALICE, "::1", READ, ResourceType.TOPIC, TOPIC)
        chosen = DeleteAclsFilter(
            resource_type_filter=ResourceType.ANY,
            pattern_type_filter=PatternType.ANY,
            host_filter="0:0:0:0:0:0:0:1",
            operation=Operation.ANY,
            permission_type=Permission.ANY,
        )
        answer = await cluster.ask(ADMIN, ApiKey.DELETE_ACLS, DeleteAclsRequest(filters=[chosen]))
        assert len(answer.filter_results[0].matching_acls) == 1

    with_cluster(life)


def test_without_the_feature_level_no_acl_is_stored() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        await cluster.services().metadata.change(
            lambda _: Decision([FeatureChanged(SECURITY_VERSION, 0)], [None])
        )
        request = CreateAclsRequest(creations=[creation(READ)])
        [result] = (await cluster.ask(ADMIN, ApiKey.CREATE_ACLS, request)).results
        assert result.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert SECURITY_VERSION in result.error_message
        assert not (await cluster.ask(ADMIN, ApiKey.LIST_GROUPS, ListGroupsRequest())).error_code

    with_cluster(life)


def test_without_an_authorizer_acls_and_roles_are_refused() -> None:
    async def life(cluster: AuthorizedCluster) -> None:
        assert await create(cluster, ADMIN, creation(READ)) == [ErrorCode.SECURITY_DISABLED]
        for key, request in (
            (ApiKey.DESCRIBE_ACLS, EVERYTHING),
            (ApiKey.DESCRIBE_ROLES, DescribeRolesRequest()),
        ):
            answer = await cluster.ask(ADMIN, key, request)
            assert answer.error_code == ErrorCode.SECURITY_DISABLED
            assert answer.error_message == "No Authorizer is configured."

    with_cluster(life, authorizer_class_name="")
