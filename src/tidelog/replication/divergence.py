"""Where two logs part: found by leader epochs, since one epoch has one leader, which wrote each offset once.

A follower says how far it is and which epoch wrote its last record. The leader compares that with where the
epoch ends in its own log. If the follower has more, it truncates its log and asks again: at least one epoch
goes each round, and it ends where both logs are the same.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset
from tidelog.storage.log import PartitionLog


def divergence(log: PartitionLog, last_epoch: Epoch, offset: Offset) -> tuple[Epoch, Offset] | None:
    """The leader's answer: (epoch that both logs may have, where it ends here), or None: the logs agree."""
    if offset < log.start:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, the log starts at {log.start}")
    if last_epoch >= 0:
        epoch, end = log.epoch_end(last_epoch)
        if epoch == NO_EPOCH:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"epoch {last_epoch} is not in the log")
        if epoch < last_epoch or end < offset:
            return epoch, end
    if offset > log.end:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, the log ends at {log.end}")
    return None


def truncation_point(log: PartitionLog, epoch: Epoch, end: Offset) -> Offset:
    """Where a follower truncates its log if `epoch` ends at `end` in its leader's."""
    own_epoch, own_end = log.epoch_end(epoch)
    return min(end, log.end) if own_epoch == NO_EPOCH else min(end, own_end, log.end)
