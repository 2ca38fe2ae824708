"""How a server ends, and what it does where the system has no descriptors left."""

import os
import resource
import socket
from collections.abc import Callable

import pytest

from tests.faults.echo_server import DEADLINE, Running, frame, is_closed, receive_frame, wait_for
from tidelog.broker.requests.reply import Reply


def test_drain_answers_what_is_under_way(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as idle, running.connect() as waiting:
        waiting.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        drained = running.drain(DEADLINE)
        assert is_closed(idle)
        with pytest.raises(ConnectionRefusedError):
            running.connect()
        answer = Reply([frame(b"done")])
        running.ask(lambda: running.dispatcher.waiting[0].set_result(answer))
        assert receive_frame(waiting) == b"done"
        assert is_closed(waiting)
    assert drained.result(DEADLINE) == 0


def test_drain_cuts_off_what_does_not_end(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as stuck:
        stuck.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        assert running.drain(0.1).result(DEADLINE) == 1
        assert is_closed(stuck)


def test_running_out_of_descriptors_pauses_accepting(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    with running.connect() as old, socket.socket() as new:
        wait_for(lambda: running.server.connection_count == 1)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest_free = os.dup(new.fileno())
        os.close(lowest_free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, limits[1]))
        try:
            new.connect(("127.0.0.1", running.port))
            wait_for(lambda: "cannot accept on LISTENER://127.0.0.1" in caplog.text)
            old.sendall(frame(b"e old"))
            assert receive_frame(old) == b"e old"
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        new.settimeout(DEADLINE)
        with running.secure(new) as accepted:
            accepted.sendall(frame(b"e new"))
            assert receive_frame(accepted) == b"e new"
