"""The leader's side of a partition: followers that fetch, and the in-sync set that results.

One object for one leader epoch. `Leadership` counts who has what; this applies it to the partition: it moves
the high watermark, and decides which change of the in-sync set to ask the controller for.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_OFFSET, Epoch, NodeId, Offset
from tidelog.base.weak import weak
from tidelog.replication import refusals
from tidelog.replication.follower_progress import FollowerProgress
from tidelog.replication.leadership import NOT_COMMITTED, CommittedIsr, IsrProposal, Leadership

if TYPE_CHECKING:
    from tidelog.replication.partition import Partition


class Leader:
    __slots__ = ("_leadership", "_partition")

    def __init__(self, partition: "Partition", now: float) -> None:
        """The followers' ends are unknown in a new epoch, so the high watermark stays until they fetch."""
        self._partition = weak(partition)
        log = partition.log
        epochs = log.leader_epochs
        epoch_start = epochs.latest_start if epochs.latest == partition.leader_epoch else log.end
        self._leadership = Leadership(partition.node_id, epoch_start, partition.replicas, partition.isr, now)

    @property
    def epoch_start(self) -> Offset:
        return self._leadership.epoch_start

    def update(self, now: float, *, is_change: bool) -> None:
        """The metadata changed within this leader epoch; `is_change`: more than is known of it here."""
        self._leadership.assign(self._partition.replicas, now)
        if is_change:
            self._leadership.commit(self._partition.isr)
        self.count()

    def count(self) -> None:
        """Other followers may count from now on."""
        self._partition.mark.limits = self._leadership.counted
        self._partition.advance()

    # Followers

    def follower_fetched(
        self,
        replica: NodeId,
        broker_epoch: Epoch,
        offset: Offset,
        now: float,
        *,
        log_start: Offset = NO_OFFSET,
    ) -> bool:
        """A follower, whose epoch was checked and whose log agrees with this one, has all below `offset`.

        True: it may join the in-sync set.
        """
        partition, log, leadership = self._partition, self._partition.log, self._leadership
        if (
            log.offline is not None and not log.is_short
        ):  # a full log is still read, so that others get all of it
            raise refusals.offline(partition)
        progress = leadership.follower(replica)
        if progress is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH, f"broker {replica} is no replica in this broker's metadata"
            )
        if 0 <= broker_epoch < progress.broker_epoch:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER, f"broker {replica} restarted after it sent this request"
            )
        if not log.start <= offset <= log.end:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        progress.broker_epoch = max(progress.broker_epoch, broker_epoch)
        progress.start = log_start
        if leadership.fetched(replica, offset, log.end, now):
            partition.mark.limits = leadership.counted
        partition.advance()
        return leadership.proposal is None and leadership.may_join(replica, partition.high_watermark)

    def progress_of(self, node: NodeId) -> FollowerProgress | None:
        return self._leadership.follower(node)

    # The in-sync set

    def isr_wanted(
        self, now: float, lag_max: float, is_eligible: Callable[[NodeId], bool]
    ) -> IsrProposal | None:
        """The change to ask the controller for; None: none, or one is under way."""
        partition, leadership = self._partition, self._leadership
        if leadership.proposal is not None or partition.log.offline is not None:
            return None
        in_time = leadership.in_time(partition.log.end, now, lag_max)
        leadership.await_only([node for node in in_time if is_eligible(node)])
        self.count()
        node_id, high_watermark = partition.node_id, partition.high_watermark
        wanted = tuple(node for node in partition.isr if node == node_id or node in in_time)
        # After `count`: the high watermark may just have passed a follower that nothing waits for any more.
        wanted += tuple(
            node
            for node in partition.replicas
            if node != node_id and is_eligible(node) and leadership.may_join(node, high_watermark)
        )
        if wanted == partition.isr:
            return None
        epochs = leadership.broker_epochs(wanted)
        return IsrProposal(wanted, epochs, partition.leader_epoch, partition.partition_epoch)

    def isr_proposed(self, proposal: IsrProposal) -> bool:
        """The proposal is about to be sent: from now on its members count as if they were in the set.

        False: it became wrong since it was made, and must not be sent.
        """
        partition, leadership = self._partition, self._leadership
        if leadership.proposal is not None:
            return False
        if (proposal.leader_epoch, proposal.partition_epoch) != (
            partition.leader_epoch,
            partition.partition_epoch,
        ):
            return False
        joining = (node for node in proposal.isr if node not in partition.isr)
        if not all(leadership.may_join(node, partition.high_watermark) for node in joining):
            return False
        leadership.proposal = proposal
        partition.mark.limits = leadership.counted
        return True

    def is_pending(self, proposal: IsrProposal) -> bool:
        """False once the outcome is known: then there is no point in sending it again."""
        return self._leadership.proposal == proposal

    def isr_answered(
        self, proposal: IsrProposal, error: ErrorCode | None, committed: CommittedIsr | None = None
    ) -> None:
        """The controller answered. A late answer has no effect: the metadata were faster."""
        partition, leadership = self._partition, self._leadership
        if leadership.proposal != proposal:
            return
        if error is None:
            # The metadata may bring a larger min.insync.replicas first: the controller counted with that, and
            # takes replicas that left, or have left before, for eligible leaders. So a smaller set waits for
            # the metadata, and so does a larger one while there are eligible leaders.
            if (
                committed is not None
                and not partition.elr
                and committed.leader_epoch == partition.leader_epoch
                and committed.partition_epoch > partition.partition_epoch
                and set(committed.isr).issuperset(partition.isr)
            ):
                partition.isr, partition.partition_epoch = committed.isr, committed.partition_epoch
                leadership.commit(partition.isr)
        elif error in NOT_COMMITTED:
            leadership.drop_proposal()
        self.count()
