"""Raft: messages between the nodes of the metadata quorum. No response: Raft resends what is lost."""

from tidelog.broker.requests.answer import NO_RESPONSE, CloseConnection, NoResponse
from tidelog.broker.requests.context import Context
from tidelog.raft.messages import decode
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.raft import RaftRequest


def handle(context: Context, request: RaftRequest) -> NoResponse:
    services, connection = context.services, context.connection
    if not context.allows_on_cluster(Operation.CLUSTER_ACTION):
        services.refused_brokers.warn(connection.principal, connection.host, services.clock.monotonic())
        raise CloseConnection(connection, f"{connection.principal} lacks CLUSTER_ACTION on the cluster")
    metadata = services.metadata
    ours = metadata.image.cluster_id
    # A node that does not know its cluster yet sends no cluster id.
    if request.cluster_id and ours and request.cluster_id != ours:
        raise CloseConnection(
            context.connection, f"it belongs to cluster {request.cluster_id}, and this broker to {ours}"
        )
    for message in request.messages:
        metadata.quorum.receive(decode(message.data), len(message.data))
    return NO_RESPONSE
