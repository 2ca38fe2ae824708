"""DescribeTransactions and ListTransactions: what people and tools want to know."""

from collections.abc import Iterable

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import TimestampMs
from tidelog.transactions.messages import DescribedTransaction, ListedTransaction, ListFilter
from tidelog.transactions.states import BY_TEXT
from tidelog.transactions.transaction import Transaction


def describe(transactional_id: str, found: Transaction | None) -> DescribedTransaction:
    if not transactional_id:
        return DescribedTransaction(transactional_id, ErrorCode.INVALID_REQUEST)
    if found is None:
        return DescribedTransaction(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return DescribedTransaction(
        transactional_id,
        ErrorCode.NONE,
        found.state.text,
        found.timeout_ms,
        found.started_ms,
        found.writer,
        found.partitions,
    )


def listed(
    transactions: Iterable[Transaction], wanted: ListFilter, now_ms: TimestampMs
) -> list[ListedTransaction]:
    return [
        ListedTransaction(one.id, one.writer.producer_id, one.state.text)
        for one in transactions
        if _fits(one, wanted, now_ms)
    ]


def _fits(transaction: Transaction, wanted: ListFilter, now_ms: TimestampMs) -> bool:
    if wanted.producer_ids and transaction.writer.producer_id not in wanted.producer_ids:
        return False
    if wanted.states and transaction.state.text not in wanted.states:
        return False
    if wanted.duration_ms >= 0:
        has_run_ms = now_ms - transaction.started_ms if transaction.started_ms >= 0 else -1
        return has_run_ms > wanted.duration_ms
    return True


def unknown_states(states: Iterable[str]) -> list[str]:
    """Of those that a client asked for, the ones that we have never heard of."""
    return [state for state in states if state not in BY_TEXT]
