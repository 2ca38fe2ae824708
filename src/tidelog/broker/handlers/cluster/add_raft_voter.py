"""AddRaftVoter: a broker that follows the metadata gets a vote on it."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ZERO_UUID
from tidelog.broker.controller.voters import Voters
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse


async def handle(context: Context, request: AddRaftVoterRequest) -> AddRaftVoterResponse:
    if not context.allows_on_cluster(Operation.ALTER):
        return AddRaftVoterResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    voters = Voters(services.metadata)
    try:
        services.controller.check_active()
        voters.check_cluster(request.cluster_id)
        if not request.listeners:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The voter has no listener.")
        where = request.listeners[0]
        host = f"[{where.host}]" if ":" in where.host else where.host
        directory = request.voter_directory_id
        await voters.add(
            request.voter_id,
            f"{host}:{where.port}",
            None if directory == ZERO_UUID else directory,
            wait=request.ack_when_committed,
        )
    except KafkaError as error:
        return AddRaftVoterResponse(error_code=error.code, error_message=error.message)
    return AddRaftVoterResponse()
