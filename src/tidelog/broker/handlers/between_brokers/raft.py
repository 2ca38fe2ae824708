"""Raft: messages between the nodes of the metadata quorum. No response: Raft resends what is lost."""

from tidelog.broker.requests.answer import NO_RESPONSE, CloseConnection, NoResponse
from tidelog.broker.requests.context import Context
from tidelog.raft.messages import decode
from tidelog.wire.messages.raft import RaftRequest


def handle(context: Context, request: RaftRequest) -> NoResponse:
    metadata = context.services.metadata
    ours = metadata.image.cluster_id
    # A node that does not know its cluster yet sends no cluster id.
    if request.cluster_id and ours and request.cluster_id != ours:
        raise CloseConnection(
            context.connection, f"it belongs to cluster {request.cluster_id}, and this broker to {ours}"
        )
    for message in request.messages:
        metadata.quorum.receive(decode(message.data), len(message.data))
    return NO_RESPONSE
