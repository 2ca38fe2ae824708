"""Callbacks are served by a busy sender, never within each other, and by the thread when all is quiet."""

import threading

from tidelog.clients.producer.callback_service import SENDS_PER_SERVE, SERVE_S, CallbackService


class Polls:
    """Remembers who polled with which timeout; a poll with patience ends when it is `released`."""

    def __init__(self) -> None:
        self.by_sender = 0
        self.quiet = threading.Event()
        self.released = threading.Event()
        self.service: CallbackService | None = None
        self.is_failing = False

    def __call__(self, timeout_s: float) -> int:
        if timeout_s == 0:
            self.by_sender += 1
            if self.service is not None:  # a callback that sends
                for _ in range(SENDS_PER_SERVE):
                    self.service.sent()
            if self.is_failing:
                raise ZeroDivisionError
        else:
            assert timeout_s == SERVE_S
            self.quiet.set()
            self.released.wait()
        return 0


def test_a_busy_sender_serves_every_now_and_then() -> None:
    polls = Polls()
    service = CallbackService(polls, "test")
    for _ in range(3 * SENDS_PER_SERVE):
        service.sent()
    assert polls.by_sender == 3
    polls.released.set()
    service.stop()


def test_callbacks_that_send_are_not_served_within_callbacks() -> None:
    polls = Polls()
    polls.service = service = CallbackService(polls, "test")
    for _ in range(SENDS_PER_SERVE):
        service.sent()
    assert polls.by_sender == 1
    polls.released.set()
    service.stop()


def test_what_a_callback_raises_does_not_reach_the_sender() -> None:
    polls = Polls()
    polls.is_failing = True
    service = CallbackService(polls, "test")
    for _ in range(SENDS_PER_SERVE):
        service.sent()
    polls.released.set()
    service.stop()


def test_the_thread_serves_when_nobody_sends_and_ends_when_stopped() -> None:
    polls = Polls()
    service = CallbackService(polls, "test-service")
    assert polls.quiet.wait(10)
    polls.released.set()
    service.stop()
    assert not any(thread.name == "test-service" for thread in threading.enumerate())
