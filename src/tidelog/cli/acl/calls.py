"""ACLs and roles of a running cluster, read and changed over our own codec."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import CliError
from tidelog.metadata.image.security import Grant, Role
from tidelog.security.acls.acl import Acl, AclFilter
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from tidelog.wire.messages.describe_roles import RoleGrant


def create_acls(cluster: DirectCluster, acls: Sequence[Acl]) -> None:
    from tidelog.wire.messages import create_acls as wire

    request = wire.CreateAclsRequest(
        creations=[
            wire.AclCreation(
                resource_type=acl.resource_type,
                resource_name=acl.resource_name,
                resource_pattern_type=acl.pattern_type,
                principal=acl.principal,
                host=acl.host,
                operation=acl.operation,
                permission_type=acl.permission,
            )
            for acl in acls
        ]
    )
    for result in cluster.ask(request).results:
        check(result.error_code, result.error_message, "The ACLs were not added", Operation.ALTER)


def delete_acls(cluster: DirectCluster, filters: Sequence[AclFilter]) -> list[Acl]:
    """Returns the deleted ACLs."""
    from tidelog.wire.messages import delete_acls as wire

    request = wire.DeleteAclsRequest(
        filters=[wire.DeleteAclsFilter(**_selection(chosen)) for chosen in filters]
    )
    deleted: dict[Acl, None] = {}
    for result in cluster.ask(request).filter_results:
        check(result.error_code, result.error_message, "The ACLs were not removed", Operation.ALTER)
        for acl in result.matching_acls:
            kind, pattern = ResourceType(acl.resource_type), PatternType(acl.pattern_type)
            permission, operation = Permission(acl.permission_type), Operation(acl.operation)
            deleted[Acl(kind, pattern, acl.resource_name, acl.principal, acl.host, operation, permission)] = (
                None
            )
    return list(deleted)


def list_acls(cluster: DirectCluster, chosen: AclFilter | None = None) -> list[Acl]:
    from tidelog.wire.messages import describe_acls as wire

    answer = cluster.ask(wire.DescribeAclsRequest(**_selection(chosen or AclFilter())))
    check(answer.error_code, answer.error_message, "The ACLs cannot be listed", Operation.DESCRIBE)
    return [
        Acl(
            ResourceType(resource.resource_type),
            PatternType(resource.pattern_type),
            resource.resource_name,
            acl.principal,
            acl.host,
            Operation(acl.operation),
            Permission(acl.permission_type),
        )
        for resource in answer.resources
        for acl in resource.acls
    ]


def _selection(chosen: AclFilter) -> dict[str, Any]:
    """The fields that DescribeAcls and DeleteAcls select with."""
    return {
        "resource_type_filter": chosen.resource_type,
        "resource_name_filter": chosen.resource_name,
        "pattern_type_filter": chosen.pattern_type,
        "principal_filter": chosen.principal,
        "host_filter": chosen.host,
        "operation": chosen.operation,
        "permission_type": chosen.permission,
    }


def list_roles(cluster: DirectCluster, names: Iterable[str] | None = None) -> list[Role]:
    """All roles, or those of the given names that exist."""
    from tidelog.wire.messages import describe_roles as wire

    request = wire.DescribeRolesRequest(names=None if names is None else list(names))
    answer = cluster.ask(request)
    check(answer.error_code, answer.error_message, "The roles cannot be listed", Operation.DESCRIBE)
    return [Role(role.name, tuple(_grants(role.grants)), tuple(role.principals)) for role in answer.roles]


def list_roles_if_any(cluster: DirectCluster) -> list[Role]:
    """None on brokers that have no roles, such as Apache Kafka's."""
    try:
        return list_roles(cluster)
    except CliError as error:
        if isinstance(error.__cause__, KafkaError) and error.__cause__.code is ErrorCode.UNSUPPORTED_VERSION:
            return []
        raise


def _grants(given: "Iterable[RoleGrant]") -> Iterator[Grant]:
    for grant in given:
        yield Grant(
            ResourceType(grant.resource_type),
            PatternType(grant.pattern_type),
            grant.resource_name,
            tuple(map(Operation, grant.operations)),
        )


def check(code: int, message: str | None, what: str, needed: Operation) -> None:
    """Raises CliError for a refusal; `needed` is what the request needs on the cluster."""
    if not code:
        return
    if code == ErrorCode.SECURITY_DISABLED:
        raise disabled(what)
    cause = attempt = None
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        cause = f"the user of this connection lacks {needed.name} on the cluster."
        operation = needed.name.lower().replace("_", "-")
        attempt = (
            f"as an administrator: tidelog acl add --principal User:NAME --operation {operation} --cluster"
        )
    raise refusal(code, message, what, cause=cause, attempt=attempt)


def disabled(what: str) -> CliError:
    return refusal(
        ErrorCode.SECURITY_DISABLED,
        "The brokers run without an authorizer: every client may do everything.",
        what,
        attempt="tidelog up --secure, or authorizer.class.name in the settings of all brokers",
    )
