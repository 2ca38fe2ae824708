"""When a simulated producer complains that it was refused."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.testing.sim.clients.refusals import Refusal, complaint_of
from tidelog.transactions.states import State
from tidelog.transactions.transaction import Identity, Transaction


def refusal(*, second_protocol: bool = True) -> Refusal:
    return Refusal("tx", (7, 3), second_protocol, "committed", ErrorCode.INVALID_TXN_STATE)


def known(state: State, epoch: int = 3) -> Transaction:
    return Transaction("tx", Identity(7, epoch), state, timeout_ms=1000, updated_ms=0)


def test_an_open_transaction_is_refused_without_reason() -> None:
    told = complaint_of(refusal(), known(State.ONGOING))
    assert told is not None
    assert "committed and was refused with INVALID_TXN_STATE, though its transaction is Ongoing" in told


@pytest.mark.parametrize(
    "found", [None, known(State.ONGOING, 4), known(State.COMPLETE_ABORT, 4), known(State.PREPARE_ABORT)]
)
def test_who_was_fenced_or_is_being_ended_has_no_complaint(found: Transaction | None) -> None:
    assert complaint_of(refusal(), found) is None


def test_in_the_first_protocol_an_earlier_end_may_have_ended_it() -> None:
    ended = known(State.COMPLETE_COMMIT)
    assert complaint_of(refusal(second_protocol=False), ended) is None
    assert complaint_of(refusal(), ended) is not None
