"""Is a transactional batch part of a transaction that somebody will end? Asked for the first one (KIP-890).

A leader that gets the first batch of a transaction asks the coordinator. The answer takes a while, in which
the transaction may be ended here: the marker takes the guard away, and the batch that waited is refused. So
nothing is ever written that nobody ends.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.wire.batch import BatchHeader


class VerificationGuard:
    """Handed out when a verification begins; good until the producer's next marker here."""

    __slots__ = ("began_ms", "epoch", "lowest_sequence")

    def __init__(self, sequence: int, epoch: int, now_ms: TimestampMs) -> None:
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.began_ms = now_ms


class Verifications:
    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[ProducerId, VerificationGuard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def begin(
        self, producer_id: ProducerId, epoch: int, sequence: int, now_ms: TimestampMs
    ) -> VerificationGuard:
        """Batches of one producer that wait at the same time share a guard."""
        guard = self._guards.get(producer_id)
        if guard is None:
            guard = self._guards[producer_id] = VerificationGuard(sequence, epoch, now_ms)
        elif epoch > guard.epoch:
            guard.epoch, guard.lowest_sequence = epoch, sequence
        elif epoch == guard.epoch:
            guard.lowest_sequence = min(guard.lowest_sequence, sequence)
        return guard

    def check(self, header: BatchHeader, guard: VerificationGuard | None) -> None:
        """KafkaError unless the batch was verified under this guard, and no earlier one is still waiting."""
        if guard is None or self._guards.get(header.producer_id) is not guard:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"a batch of producer {header.producer_id} is not part of an open transaction",
            )
        if header.producer_epoch == guard.epoch and header.base_sequence > guard.lowest_sequence >= 0:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} sent sequence {header.base_sequence} while "
                f"{guard.lowest_sequence}, which came first, is not written",
            )

    def clear(self, producer_id: ProducerId, first_kept_epoch: int | None = None) -> None:
        """A transaction was opened or ended here. A guard of an epoch that comes after it stays good."""
        guard = self._guards.get(producer_id)
        if guard is not None and (first_kept_epoch is None or guard.epoch < first_kept_epoch):
            del self._guards[producer_id]

    def expire(self, now_ms: TimestampMs, expiration_ms: int) -> None:
        for producer_id, guard in list(self._guards.items()):
            if now_ms - guard.began_ms >= expiration_ms:
                del self._guards[producer_id]
