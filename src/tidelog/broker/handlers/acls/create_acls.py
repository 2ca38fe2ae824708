"""CreateAcls: what principals may do, or may not do, from now on. Each ACL for itself."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.handlers.acls.wire_acls import NO_AUTHORIZER, acl_of
from tidelog.broker.requests.context import Context
from tidelog.metadata.security.acls import decide_create_acls
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse


async def handle(context: Context, request: CreateAclsRequest) -> CreateAclsResponse:
    if context.services.authorizer is None:
        # An ACL that no broker enforces would be worse than none.
        return _all(request, ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
    if not context.allows_on_cluster(Operation.ALTER):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return _all(request, code, code.text)
    wanted = [acl_of(creation) for creation in request.creations]
    results = await context.services.metadata.change(lambda image: decide_create_acls(image, wanted))
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=result.error, error_message=result.message) for result in results
        ]
    )


def _all(request: CreateAclsRequest, code: ErrorCode, message: str) -> CreateAclsResponse:
    refused = AclCreationResult(error_code=code, error_message=message)
    return CreateAclsResponse(results=[refused] * len(request.creations))
