"""Work in Python beside the loop: the switch interval is short until the last of it ends."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tidelog.server.short_turns import TURN_SECONDS, in_short_turns


def test_the_interval_is_short_while_work_runs_and_comes_back() -> None:
    usual = sys.getswitchinterval()
    assert in_short_turns(sys.getswitchinterval) == pytest.approx(TURN_SECONDS)
    assert sys.getswitchinterval() == usual


def test_it_comes_back_after_a_failure() -> None:
    usual = sys.getswitchinterval()
    with pytest.raises(ZeroDivisionError):
        in_short_turns(lambda: 1 // 0)
    assert sys.getswitchinterval() == usual


def test_it_stays_short_until_the_last_of_several_ends() -> None:
    usual, first_may_end = sys.getswitchinterval(), threading.Event()
    with ThreadPoolExecutor(1) as thread:
        begun = threading.Event()

        def first() -> None:
            begun.set()
            first_may_end.wait(10)

        ending = thread.submit(in_short_turns, first)
        begun.wait(10)
        in_short_turns(lambda: None)
        assert sys.getswitchinterval() == pytest.approx(TURN_SECONDS)
        first_may_end.set()
        ending.result()
    assert sys.getswitchinterval() == usual
