"""The acknowledgements of a request: applied at once, complete when the state of all partitions is saved."""

from collections.abc import Callable
from functools import partial

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import Uuid
from tidelog.broker.shares.led_share import not_held
from tidelog.broker.shares.sessions import AckBatches, SharePartitionKey, SharePlan
from tidelog.broker.shares.share_partitions import SharePartitions
from tidelog.shares.partition.acknowledgement import AckBatch
from tidelog.shares.place import SharePlace
from tidelog.shares.states import AckType

AS_LEADER_CHANGE = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH})


class Acknowledgements:
    __slots__ = ("_pending", "_then", "errors")

    def __init__(self) -> None:
        self.errors: dict[SharePartitionKey, KafkaError | None] = {}
        """By partition; None for those that are accepted, saved or not."""
        self._pending = 0
        self._then: Callable[[], None] | None = None

    @property
    def is_complete(self) -> bool:
        return not self._pending

    @property
    def has_errors(self) -> bool:
        return any(self.errors.values())

    def when_complete(self, then: Callable[[], None]) -> None:
        """For acknowledgements that are not complete yet."""
        self._then = then

    def apply(
        self,
        shares: SharePartitions,
        plan: SharePlan,
        refusal_of: Callable[[Uuid], KafkaError | None],
        *,
        may_renew: bool,
    ) -> None:
        """`refusal_of` says why the client may not read a topic; None: it may."""
        for key, batches in plan.acknowledged.items():
            self.errors[key] = None
            try:
                refusal = refusal_of(key[0])
                if refusal is not None:
                    raise refusal
                self._apply_one(shares, plan, key, _checked(batches, may_renew=may_renew))
            except KafkaError as error:
                self.errors[key] = error

    def _apply_one(
        self, shares: SharePartitions, plan: SharePlan, key: SharePartitionKey, batches: list[AckBatch]
    ) -> None:
        led = shares.loaded(plan.member.group_id, *key)
        if led is None:
            shares.check_leads(*key)
            raise not_held(SharePlace(plan.member.group_id, *key))
        if not led.acknowledge(plan.member.member_id, batches, partial(self._saved, key)):
            self._pending += 1

    def _saved(self, key: SharePartitionKey, error: KafkaError | None) -> None:
        if error is not None:
            is_moved = error.code in AS_LEADER_CHANGE
            self.errors[key] = (
                KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, error.message) if is_moved else error
            )
        self._pending -= 1
        if not self._pending and self._then is not None:
            then, self._then = self._then, None  # a request refers to these, and `then` to the request
            then()


def _checked(batches: AckBatches, *, may_renew: bool) -> list[AckBatch]:
    checked = []
    for batch in batches:
        types = batch.acknowledge_types
        if AckType.RENEW in types and not may_renew:
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, "Locks are renewed by requests that say so, without a fetch."
            )
        checked.append(AckBatch(batch.first_offset, batch.last_offset, types, batch.delay_ms))
    return checked
