"""What became of single records of a partition, as its leader says, piece by piece while records are read."""

from tidelog.base.errors import ErrorCode
from tidelog.cli.cluster.view import Broker
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.direct.configs import Kind, read_settings
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.queue.calls import ask
from tidelog.cli.queue.looking import named
from tidelog.cli.queue.record_states import RecordState, RecordStates
from tidelog.cli.queue.standing import QueuePartition
from tidelog.cli.records.format import Headers
from tidelog.shares.schedule.due_times import TopicDelay
from tidelog.shares.states import DeliveryState, StateBatch

DELAY = "share.delivery.delay.ms"
HEADERS = "share.delivery.headers.enable"


class StatesLookup:
    def __init__(
        self, direct: DirectCluster, broker: Broker, group: str, part: QueuePartition, delay: TopicDelay
    ) -> None:
        self._direct = direct
        self._broker = broker
        self._group = group
        self._part = part
        self._delay = delay
        self._piece: RecordStates | None = None
        self._to: int | None = 0
        """Up to which offset the piece tells states; None: to the end of the partition."""

    def of(self, offset: int, timestamp: int | None, headers: Headers, now_ms: int) -> RecordState:
        """For ascending offsets."""
        if self._piece is None or (self._to is not None and offset >= self._to):
            self._piece = self._ask(offset)
        return self._piece.of(offset, timestamp, headers, now_ms)

    def _ask(self, first: int) -> RecordStates:
        from tidelog.wire.messages.describe_share_partitions import DescribeSharePartitionsRequest

        request = DescribeSharePartitionsRequest(
            group_id=self._group, topics=named([self._part]), states_from=first
        )
        answer = ask(self._direct, self._broker, request)
        code = answer.error_code or (answer.partitions[0].error_code if answer.partitions else 0)
        if code or not answer.partitions:
            code = code or ErrorCode.NOT_LEADER_OR_FOLLOWER
            raise refusal(code, answer.error_message, f"The states of records in {self._part.place}")
        [found] = answer.partitions
        self._to = found.states_to if found.states_to >= 0 else None
        batches = [
            StateBatch(
                run.first_offset,
                run.last_offset,
                DeliveryState(run.delivery_state),
                run.delivery_count,
                run.available_at,
            )
            for run in found.record_states
        ]
        return RecordStates(found.start_offset, batches, self._delay)


def topic_delay(direct: DirectCluster, topic: str) -> TopicDelay:
    found = read_settings(direct, Kind.TOPIC, [topic], [DELAY, HEADERS]).get(topic, {})
    return TopicDelay(int(found.get(DELAY, 0)), found.get(HEADERS, "true") == "true")
