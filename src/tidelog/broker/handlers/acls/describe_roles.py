"""DescribeRoles: what roles allow, and which principals have them."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.acls.wire_acls import NO_AUTHORIZER
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.security import Role
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.describe_roles import (
    DescribedRole,
    DescribeRolesRequest,
    DescribeRolesResponse,
    RoleGrant,
)


def handle(context: Context, request: DescribeRolesRequest) -> DescribeRolesResponse:
    """Names that no role has are left out."""
    if context.services.authorizer is None:
        return DescribeRolesResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    if not context.allows_on_cluster(Operation.DESCRIBE):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return DescribeRolesResponse(error_code=code, error_message=code.text)
    roles = context.services.metadata.image.security.roles
    wanted = sorted(roles) if request.names is None else dict.fromkeys(request.names)
    return DescribeRolesResponse(roles=[_described(roles[name]) for name in wanted if name in roles])


def _described(role: Role) -> DescribedRole:
    return DescribedRole(
        name=role.name,
        grants=[
            RoleGrant(
                resource_type=grant.resource_type,
                pattern_type=grant.pattern_type,
                resource_name=grant.resource_name,
                operations=list(grant.operations),
            )
            for grant in role.grants
        ],
        principals=list(role.principals),
    )
