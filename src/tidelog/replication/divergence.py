"""Where two logs part: found by leader epochs, since one epoch has one leader, which wrote each offset once.

A follower says how far it is and which epoch wrote its last record. The leader compares that with where the
epoch ends in its own log. If the follower has more, it cuts its log and asks again: each round at least one
epoch goes, and it ends where both logs are the same.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import NO_EPOCH, Epoch, Offset
from tidelog.storage.log import PartitionLog


def divergence(log: PartitionLog, last_epoch: Epoch, offset: Offset) -> tuple[Epoch, Offset] | None:
    """What a leader answers: (epoch that both may know, where it ends here), or None: the logs agree."""
    if offset < log.start:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, the log starts at {log.start}")
    if last_epoch >= 0:
        epoch, end = log.epoch_end(last_epoch)
        if epoch == NO_EPOCH:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"nothing is known of epoch {last_epoch}")
        if epoch < last_epoch or end < offset:
            return epoch, end
    if offset > log.end:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, the log ends at {log.end}")
    return None


def truncation_point(log: PartitionLog, epoch: Epoch, end: Offset) -> Offset:
    """Where a follower cuts whose leader's log has `epoch` end at `end`."""
    own_epoch, own_end = log.epoch_end(epoch)
    return min(end, log.end) if own_epoch == NO_EPOCH else min(end, own_end, log.end)
