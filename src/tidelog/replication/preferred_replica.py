"""Which replica a consumer should read from: one in its own rack, if that has all it asks for (KIP-392)."""

from collections.abc import Callable

from tidelog.base.ids import NodeId, Offset
from tidelog.replication.partition import Partition


def preferred_replica(
    partition: Partition, offset: Offset, client_rack: str, rack_of: Callable[[NodeId], str | None]
) -> NodeId | None:
    """None: the leader, which got the request, should answer itself.

    Only followers in sync count: one that lags would keep its readers back for as long as they come here.
    `rack_of` says None for a broker that has no rack or that this consumer cannot reach.
    """
    leader = partition.leader
    if not client_rack or leader is None or rack_of(partition.node_id) == client_rack:
        return None
    best: tuple[Offset, float] | None = None
    chosen = None
    for node in partition.isr:
        progress = leader.progress_of(node)
        if progress is None or not progress.start <= offset <= progress.end or rack_of(node) != client_rack:
            continue
        rank = progress.end, progress.caught_up_at
        if best is None or rank > best:
            best, chosen = rank, node
    return chosen
