"""RemoveRaftVoter: a broker loses its vote on the metadata."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.controller.voters import Voters
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse


async def handle(context: Context, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        return RemoveRaftVoterResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    voters = Voters(services.metadata)
    directory = request.voter_directory_id
    try:
        services.controller.check_active()
        voters.check_cluster(request.cluster_id)
        await voters.remove(request.voter_id, None if directory == ZERO_UUID else directory)
    except KafkaError as error:
        return RemoveRaftVoterResponse(error_code=error.code, error_message=error.message)
    return RemoveRaftVoterResponse()
