"""AlterRoles: create, replace and delete roles, and grant them to principals. Each change for itself."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.acls.wire_acls import NO_AUTHORIZER, known_or_unknown
from tidelog.broker.requests.context import Context
from tidelog.metadata.image.security import Grant
from tidelog.metadata.security.roles import RoleChange, decide_alter_roles
from tidelog.security.acls.vocabulary import Operation, PatternType, ResourceType
from tidelog.wire.messages import alter_roles as wire
from tidelog.wire.messages.alter_roles import AlterRolesRequest, AlterRolesResponse, RoleChangeResult


async def handle(context: Context, request: AlterRolesRequest) -> AlterRolesResponse:
    if context.services.authorizer is None:
        return _all(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    if not context.allows_on_cluster(Operation.ALTER):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _all(request, code, code.text)
    wanted = [
        RoleChange(change.name, change.kind, _grants(change.grants), change.principals)
        for change in request.changes
    ]
    results = await context.services.metadata.change(lambda image: decide_alter_roles(image, wanted))
    return AlterRolesResponse(
        results=[
            RoleChangeResult(name=change.name, error_code=result.error, error_message=result.message)
            for change, result in zip(wanted, results, strict=True)
        ]
    )


def _grants(given: Iterable[wire.RoleGrant]) -> tuple[Grant, ...]:
    return tuple(
        Grant(
            known_or_unknown(ResourceType, grant.resource_type),
            known_or_unknown(PatternType, grant.pattern_type),
            grant.resource_name,
            tuple(known_or_unknown(Operation, operation) for operation in grant.operations),
        )
        for grant in given
    )


def _all(request: AlterRolesRequest, code: ErrorCode, message: str) -> AlterRolesResponse:
    return AlterRolesResponse(
        results=[
            RoleChangeResult(name=change.name, error_code=code, error_message=message)
            for change in request.changes
        ]
    )
