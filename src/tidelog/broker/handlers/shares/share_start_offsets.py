"""ShareStartOffsets: where share groups stand, for leaders that delete what all groups have finished."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.stored_starts import stored_starts
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.share_start_offsets import ShareStartOffsetsRequest, ShareStartOffsetsResponse


async def handle(context: Context, request: ShareStartOffsetsRequest) -> ShareStartOffsetsResponse:
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return ShareStartOffsetsResponse(error_code=code, error_message=code.text)
    return await stored_starts(context.services.share_states, request)
