"""DeleteAcls: the ACLs that filters select. The answer lists them; all others stay."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.acls.wire_acls import NO_AUTHORIZER, filter_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.acls import DeletedAcls, decide_delete_acls, sorted_acls
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


async def handle(context: Context, request: DeleteAclsRequest) -> DeleteAclsResponse:
    if context.services.authorizer is None:
        return _all(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    if not context.allows_on_cluster(Operation.ALTER):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _all(request, code, code.text)
    wanted = [filter_of(chosen) for chosen in request.filters]
    results = await context.services.metadata.change(lambda image: decide_delete_acls(image, wanted))
    return DeleteAclsResponse(filter_results=[_result(result) for result in results])


def _result(deleted: DeletedAcls) -> DeleteAclsFilterResult:
    if not deleted.ok:
        return DeleteAclsFilterResult(error_code=deleted.error, error_message=deleted.message)
    return DeleteAclsFilterResult(matching_acls=[_matching(acl) for acl in sorted_acls(deleted.acls)])


def _matching(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def _all(request: DeleteAclsRequest, code: ErrorCode, message: str) -> DeleteAclsResponse:
    refused = DeleteAclsFilterResult(error_code=code, error_message=message)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))
