"""CanStopBroker: whether a broker may be stopped now, as the controller sees the cluster and its quorum."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.broker.turns import in_turns
from tidelog.metadata.brokers.stopping import FollowingVoters, avoidable_first, look_for_obstacles
from tidelog.raft.status import QuorumStatus
from tidelog.security.acls.vocabulary import Operation
from tidelog.wire.messages.can_stop_broker import CanStopBrokerRequest, CanStopBrokerResponse, StopObstacle

PARTITIONS_A_TURN = 500
OBSTACLES_MAX = 1_000
"""A response names so many; the total counts the rest."""


async def handle(context: Context, request: CanStopBrokerRequest) -> CanStopBrokerResponse:
    if not context.allows_on_cluster(Operation.DESCRIBE):
        return CanStopBrokerResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    services = context.services
    metadata = services.metadata
    try:
        services.controller.check_active()
        quorum = _voters(metadata.quorum.raft.status(), context)
        looks = look_for_obstacles(metadata.image, request.broker_id, quorum, metadata.config)
        found = [
            one async for piece in in_turns(looks, PARTITIONS_A_TURN) for one in piece if one is not None
        ]
    except KafkaError as error:
        return CanStopBrokerResponse(error_code=error.code, error_message=error.message)
    return CanStopBrokerResponse(
        voters=sorted(quorum.voters),
        following=sorted(quorum.following),
        obstacles_total=len(found),
        obstacles=[
            StopObstacle(
                rule=one.rule,
                have=one.have,
                needed=one.needed,
                topic=one.topic,
                partition=one.partition,
                unavoidable=one.unavoidable,
            )
            for one in avoidable_first(found)[:OBSTACLES_MAX]
        ],
    )


def _voters(status: QuorumStatus, context: Context) -> FollowingVoters:
    """A voter follows if it responded within the last two election timeouts and holds, or held then, all that
    is committed."""
    services = context.services
    now = services.clock.monotonic()
    patience = 2 * services.config.int("controller.quorum.election.timeout.ms") / 1000

    def is_recent(moment: float | None) -> bool:
        return moment is not None and now - moment <= patience

    return FollowingVoters(
        [voter.id for voter in status.voters],
        [
            voter.id
            for voter in status.voters
            if voter.id == services.metadata.node_id
            or (
                is_recent(voter.last_contact)
                and (voter.last_index >= status.commit_index or is_recent(voter.last_caught_up))
            )
        ],
    )
