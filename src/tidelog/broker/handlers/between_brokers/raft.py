"""Raft: what the nodes of the metadata quorum say to each other. Not answered: Raft repeats what is lost."""

from tidelog.broker.requests.answer import NO_RESPONSE, CloseConnection, NoResponse
from tidelog.broker.requests.context import Context
from tidelog.raft.messages import decode
from tidelog.wire.messages.raft import RaftRequest


def handle(context: Context, request: RaftRequest) -> NoResponse:
    metadata = context.services.metadata
    ours = metadata.image.cluster_id
    # A node that has not learned yet which cluster it belongs to says nothing.
    if request.cluster_id and ours and request.cluster_id != ours:
        raise CloseConnection(
            context.connection, f"it speaks for cluster {request.cluster_id}, this broker belongs to {ours}"
        )
    for message in request.messages:
        metadata.quorum.receive(decode(message.data), len(message.data))
    return NO_RESPONSE
