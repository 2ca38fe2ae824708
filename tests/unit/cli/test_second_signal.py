"""One wish to stop, its echo, and a second wish."""

from tidelog.cli.second_signal import ECHO_S, Asked, Insistence


def test_an_echo_is_not_a_second_wish() -> None:
    person = Insistence()
    assert person.asked(10.0) is Asked.FIRST
    assert person.asked(10.0) is Asked.ECHO
    assert person.asked(10.0 + ECHO_S - 0.01) is Asked.ECHO
    assert person.asked(10.0 + ECHO_S) is Asked.AGAIN
