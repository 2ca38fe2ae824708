"""DeleteAcls: there is no authorizer, and so no rule that could be deleted."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.acls.describe_acls import NO_AUTHORIZER
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse


def handle(context: Context, request: DeleteAclsRequest) -> DeleteAclsResponse:
    refused = DeleteAclsFilterResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))
