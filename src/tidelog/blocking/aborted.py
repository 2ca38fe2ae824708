"""Batches of aborted transactions in the answer to a fetch: a consumer of committed records skips them."""

from collections.abc import Iterable

from tidelog.base.ports import Buffer
from tidelog.wire.batch import BatchHeader
from tidelog.wire.messages.fetch import AbortedTransaction
from tidelog.wire.record import ControlType, read_control


class AbortedTransactions:
    """Of one answer, whose batches are passed to `hide` in their order."""

    def __init__(self, aborted: Iterable[AbortedTransaction] | None) -> None:
        self._to_come = sorted(
            ((each.first_offset, each.producer_id) for each in aborted or ()), reverse=True
        )
        self._open: set[int] = set()

    def hide(self, header: BatchHeader, batch: Buffer) -> bool:
        if not header.is_transactional:
            return False
        while self._to_come and self._to_come[-1][0] <= header.last_offset:
            self._open.add(self._to_come.pop()[1])
        if header.producer_id not in self._open:
            return False
        if header.is_control:
            control = read_control(batch)
            if control is not None and control.type == ControlType.ABORT:
                self._open.discard(header.producer_id)
        return True
