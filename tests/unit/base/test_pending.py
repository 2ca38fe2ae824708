import pytest

from tidelog.base.invariant import InvariantError
from tidelog.base.pending import Pending


def test_a_callback_comes_at_once_when_the_answer_is_there_and_later_when_not():
    heard = []
    Pending.ready(1).on_done(heard.append)
    pending = Pending()
    pending.on_done(heard.append)
    assert heard == [1]
    assert not pending.done
    pending.resolve(2)
    assert heard == [1, 2]


def test_nothing_is_answered_twice_or_read_before_it_is_there():
    pending = Pending()
    with pytest.raises(InvariantError):
        _ = pending.answer
    pending.resolve(1)
    with pytest.raises(InvariantError):
        pending.resolve(2)
