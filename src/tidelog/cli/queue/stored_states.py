"""ReadShareGroupState, asked as a leader would: what a group has stored of single records of a partition.

Brokers send it to each other, so a cluster with authorization wants ClusterAction. Without an answer the
states are unknown, which is no error.
"""

from tidelog.base.ids import uuid_text
from tidelog.blocking.errors import Disconnected
from tidelog.cli.cluster.view import Broker
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.cli.exits import CliError
from tidelog.cli.queue.calls import LOOK_AGAIN, ask
from tidelog.cli.queue.record_states import RecordStates
from tidelog.cli.queue.standing import QueuePartition
from tidelog.shares.schedule.due_times import TopicDelay
from tidelog.shares.states import DeliveryState, StateBatch

SHARE_KEY = 2
DELAY = "share.delivery.delay.ms"
HEADERS = "share.delivery.headers.enable"


def read_states(
    direct: DirectCluster, group: str, part: QueuePartition, delay: TopicDelay
) -> RecordStates | None:
    """None where they are not known: another kind of broker, or no permission."""
    from tidelog.wire.messages import read_share_group_state as wire

    if part.identity is None or part.start_offset is None:
        return None
    topic_id, leader_epoch = part.identity
    request = wire.ReadShareGroupStateRequest(
        group_id=group,
        topics=[
            wire.ReadStateData(
                topic_id=topic_id,
                partitions=[
                    # The epoch that is stored already: the coordinator changes nothing.
                    wire.PartitionData(partition=part.place.partition, leader_epoch=leader_epoch)
                ],
            )
        ],
    )
    try:
        coordinator = direct.repeat(
            lambda: _coordinator(direct, f"{group}:{uuid_text(topic_id)}:{part.place.partition}"),
            lambda found: found is None,
        )
        if coordinator is None:
            return None
        result = ask(direct, coordinator, request).results[0].partitions[0]
    except (CliError, Disconnected, IndexError):
        return None
    if result.error_code:
        return None
    batches = [
        StateBatch(
            batch.first_offset,
            batch.last_offset,
            DeliveryState(batch.delivery_state),
            batch.delivery_count,
            batch.available_at,
        )
        for batch in result.state_batches
    ]
    return RecordStates(part.start_offset, batches, delay)


def topic_delay(direct: DirectCluster, topic: str) -> TopicDelay:
    found = read_settings(direct, Kind.TOPIC, [topic], [DELAY, HEADERS]).get(topic, {})
    return TopicDelay(int(found.get(DELAY, 0)), found.get(HEADERS, "true") == "true")


def _coordinator(direct: DirectCluster, key: str) -> Broker | None:
    from tidelog.wire.messages.find_coordinator import FindCoordinatorRequest

    answer = direct.ask(FindCoordinatorRequest(key_type=SHARE_KEY, coordinator_keys=[key]), at_least=6)
    found = answer.coordinators[0]
    if found.error_code in LOOK_AGAIN:
        return None
    if found.error_code:
        raise CliError(f"The state of {key} has no coordinator.")
    return Broker(found.node_id, found.host, found.port)
