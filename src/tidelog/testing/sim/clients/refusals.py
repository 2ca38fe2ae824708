"""Was a transactional producer refused with reason? Its coordinator knows, and a look into it tells.

A transaction that was ended by another client has left a higher epoch behind, or at least another state. If
the coordinator still knows the producer by the very epoch it was refused with, there was no reason to.
"""

from typing import NamedTuple

from tidelog.base.errors import ErrorCode
from tidelog.transactions.transaction import Transaction


class Refusal(NamedTuple):
    transactional_id: str
    identity: tuple[int, int]
    second_protocol: bool
    what: str
    error: ErrorCode


def complaint_of(refusal: Refusal, transaction: Transaction | None) -> str | None:
    if transaction is None or transaction.client != refusal.identity or transaction.is_ending:
        return None
    if transaction.is_idle and not refusal.second_protocol:
        return None  # a delayed end of the transaction before has the same epoch, and may have ended this one
    return (
        f"{refusal.transactional_id} (producer {refusal.identity[0]}, epoch {refusal.identity[1]}) "
        f"{refusal.what} and was refused with {refusal.error.name}, though its transaction is "
        f"{transaction.state.text}"
    )
