"""Is a transactional batch part of a transaction that a coordinator ends? Checked for the first (KIP-890).

A leader that gets the first batch of a transaction asks the coordinator. The answer takes a while, in which
the transaction may be ended here: the marker takes the guard away, and the batch that waited is refused. So
no transaction is ever opened that no coordinator ends.
"""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.base.ids import ProducerId, TimestampMs
from tidelog.wire.batch import BatchHeader


class VerificationGuard:
    """Handed out when a verification begins; good until the marker that ends the transaction it is for."""

    __slots__ = ("began_ms", "ends_raise_epoch", "epoch", "lowest_sequence")

    def __init__(self, sequence: int, epoch: int, now_ms: TimestampMs, ends_raise_epoch: bool) -> None:
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.began_ms = now_ms
        self.ends_raise_epoch = ends_raise_epoch

    def is_ended_by(self, marker_epoch: int) -> bool:
        """In the second protocol a transaction ends with a higher epoch than its batches have.

        A marker with their own epoch is that of the transaction before: written late, or sent again because
        its answer was lost.
        """
        return marker_epoch > self.epoch or (marker_epoch == self.epoch and not self.ends_raise_epoch)


class Verifications:
    __slots__ = ("_guards",)

    def __init__(self) -> None:
        self._guards: dict[ProducerId, VerificationGuard] = {}

    def __len__(self) -> int:
        return len(self._guards)

    def begin(
        self,
        producer_id: ProducerId,
        epoch: int,
        sequence: int,
        now_ms: TimestampMs,
        *,
        ends_raise_epoch: bool = False,
    ) -> VerificationGuard:
        """Batches of one producer that wait at the same time share a guard.

        `ends_raise_epoch`: the producer speaks the second protocol, in which each transaction has an epoch of
        its own.
        """
        guard = self._guards.get(producer_id)
        if guard is None:
            guard = VerificationGuard(sequence, epoch, now_ms, ends_raise_epoch)
            self._guards[producer_id] = guard
        elif epoch > guard.epoch:
            guard.epoch, guard.lowest_sequence = epoch, sequence
            guard.ends_raise_epoch = ends_raise_epoch
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

    def opened(self, producer_id: ProducerId, epoch: int) -> None:
        """A batch was written, so its transaction is open here: what follows needs no guard."""
        guard = self._guards.get(producer_id)
        if guard is not None and guard.epoch <= epoch:
            del self._guards[producer_id]

    def ended(self, producer_id: ProducerId, marker_epoch: int) -> None:
        """A marker was written. A guard of a transaction that comes after it stays good."""
        guard = self._guards.get(producer_id)
        if guard is not None and guard.is_ended_by(marker_epoch):
            del self._guards[producer_id]

    def expire(self, now_ms: TimestampMs, expiration_ms: int) -> None:
        for producer_id, guard in list(self._guards.items()):
            if now_ms - guard.began_ms >= expiration_ms:
                del self._guards[producer_id]
