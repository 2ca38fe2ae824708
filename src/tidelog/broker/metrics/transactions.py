"""Transactions that this broker coordinates."""

from collections.abc import Iterator

from tidelog.base.ports import Clock
from tidelog.broker.coordinators.transactions import Transactions
from tidelog.metrics.families import transactions as families
from tidelog.metrics.page import Page
from tidelog.transactions.states import State
from tidelog.transactions.transaction import Transaction

IDS_A_TURN = 2_000
STATES = (
    State.EMPTY,
    State.ONGOING,
    State.PREPARE_COMMIT,
    State.PREPARE_ABORT,
    State.COMPLETE_COMMIT,
    State.COMPLETE_ABORT,
)
"""The states that an id is ever kept in."""


class TransactionsCollector:
    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def collect(self, page: Page) -> Iterator[None]:
        states = dict.fromkeys(STATES, 0)
        now_ms = oldest_ms = self._clock.now_ms()
        for served in self._transactions.service:
            known = list(served.shard_as_written.transactions.values())
            for first in range(0, len(known), IDS_A_TURN):
                for one in known[first : first + IDS_A_TURN]:
                    states[one.state] = states.get(one.state, 0) + 1
                    if one.state is State.ONGOING:
                        oldest_ms = min(oldest_ms, _began_ms(one))
                yield
        for state, count in states.items():
            page.add(families.TRANSACTIONS, count, state.name.lower())
        ended = self._transactions.ended
        page.add(families.ENDED, ended.committed, "committed")
        page.add(families.ENDED, ended.aborted, "aborted")
        page.add(families.ENDED, ended.timed_out, "timed_out")
        page.add(families.OLDEST_OPEN_SECONDS, (now_ms - oldest_ms) / 1000)
        page.add(families.MARKERS_WAITING, len(self._transactions.markers))
        yield


def _began_ms(transaction: Transaction) -> int:
    return transaction.started_ms if transaction.started_ms >= 0 else transaction.updated_ms
