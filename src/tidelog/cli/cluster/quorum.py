"""The quorum that keeps the cluster's metadata: voters, observers, and how far each has got."""

from dataclasses import dataclass
from typing import Any

from tidelog.base.ids import ZERO_UUID, Uuid, uuid_text
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.refusals import refusal

METADATA_TOPIC = "__cluster_metadata"


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Member:
    id: int
    votes: bool
    directory: Uuid
    """The log dir that holds its copy of the metadata; zeros where the cluster does not tell."""
    end_offset: int
    fetched_ms: int | None
    """When the leader last heard of it, by the leader's clock."""
    caught_up_ms: int | None
    listeners: tuple[Listener, ...]

    @property
    def directory_text(self) -> str | None:
        return None if self.directory == ZERO_UUID else uuid_text(self.directory)

    @property
    def address(self) -> str | None:
        return f"{self.listeners[0].host}:{self.listeners[0].port}" if self.listeners else None


@dataclass(frozen=True, slots=True)
class Quorum:
    leader: int | None
    epoch: int
    high_watermark: int
    members: tuple[Member, ...]

    @property
    def voters(self) -> list[Member]:
        return [member for member in self.members if member.votes]

    @property
    def end_offset(self) -> int:
        return max((member.end_offset for member in self.members), default=0)

    def lag(self, member: Member) -> int | None:
        """Entries behind the leader; None for a replica that never answered."""
        return None if member.end_offset < 0 else max(0, self.end_offset - member.end_offset)


def look_at_quorum(cluster: DirectCluster) -> Quorum:
    from tidelog.wire.messages import describe_quorum as wire

    wanted = wire.DescribeQuorumRequestTopicData(
        topic_name=METADATA_TOPIC, partitions=[wire.DescribeQuorumRequestPartitionData()]
    )
    answer = cluster.ask(wire.DescribeQuorumRequest(topics=[wanted]))
    what = "The metadata quorum cannot be described"
    if answer.error_code:
        raise refusal(answer.error_code, answer.error_message, what)
    [found] = answer.topics[0].partitions
    if found.error_code:
        raise refusal(
            found.error_code,
            found.error_message,
            what,
            cause="the quorum has no leader now: too few voters are up, or an election is in progress.",
            attempt="tidelog cluster brokers, to see which brokers are down",
        )
    listeners = {
        node.node_id: tuple(Listener(where.name, where.host, where.port) for where in node.listeners)
        for node in answer.nodes
    }
    members = [
        *(_member(state, True, listeners) for state in found.current_voters),
        *(_member(state, False, listeners) for state in found.observers),
    ]
    return Quorum(
        leader=found.leader_id if found.leader_id >= 0 else None,
        epoch=found.leader_epoch,
        high_watermark=found.high_watermark,
        members=tuple(sorted(members, key=lambda member: (not member.votes, member.id))),
    )


def _member(state: Any, votes: bool, listeners: dict[int, tuple[Listener, ...]]) -> Member:
    return Member(
        id=state.replica_id,
        votes=votes,
        directory=state.replica_directory_id,
        end_offset=state.log_end_offset,
        fetched_ms=_moment(state.last_fetch_timestamp),
        caught_up_ms=_moment(state.last_caught_up_timestamp),
        listeners=listeners.get(state.replica_id, ()),
    )


def _moment(milliseconds: int) -> int | None:
    return milliseconds if milliseconds >= 0 else None
