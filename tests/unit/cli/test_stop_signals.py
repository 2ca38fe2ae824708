"""A stop signal, its echo, and a second stop signal."""

from tidelog.cli.stop_signals import ECHO_S, StopSignal, StopSignals


def test_an_echo_is_not_a_second_signal() -> None:
    signals = StopSignals()
    assert signals.receive(10.0) is StopSignal.FIRST
    assert signals.receive(10.0) is StopSignal.ECHO
    assert signals.receive(10.0 + ECHO_S - 0.01) is StopSignal.ECHO
    assert signals.receive(10.0 + ECHO_S) is StopSignal.SECOND
