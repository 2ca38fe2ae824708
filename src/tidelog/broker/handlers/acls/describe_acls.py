"""DescribeAcls: the ACLs that a filter selects. What roles amount to is shown by DescribeRoles."""

from itertools import groupby

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.acls.wire_acls import NO_AUTHORIZER, filter_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.acls import check_filter, sorted_acls
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, ResourceType
from tidelog.wire.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)


def handle(context: Context, request: DescribeAclsRequest) -> DescribeAclsResponse:
    if context.services.authorizer is None:
        return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    chosen = filter_of(request)
    try:
        if not context.allows_on_cluster(Operation.DESCRIBE):
            raise KafkaError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        check_filter(chosen)
    except KafkaError as error:
        return DescribeAclsResponse(error_code=error.code, error_message=error.message)
    selected = sorted_acls(chosen.select(context.services.metadata.image.security.acls))
    return DescribeAclsResponse(
        resources=[
            DescribeAclsResource(
                resource_type=kind,
                resource_name=name,
                pattern_type=pattern,
                acls=[_description(acl) for acl in acls],
            )
            for (kind, pattern, name), acls in groupby(selected, _resource)
        ]
    )


def _resource(acl: Acl) -> tuple[ResourceType, PatternType, str]:
    return acl.resource_type, acl.pattern_type, acl.resource_name


def _description(acl: Acl) -> AclDescription:
    return AclDescription(
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
