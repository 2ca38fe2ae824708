"""CreateAcls: refused, since a rule that is not enforced would be worse than none."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.acls.describe_acls import NO_AUTHORIZER
from tidelog.broker.requests.context import Context
from tidelog.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse


def handle(context: Context, request: CreateAclsRequest) -> CreateAclsResponse:
    refused = AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return CreateAclsResponse(results=[refused] * len(request.creations))
