"""Connections under bad input, silence and haste: real sockets, both loops, a stand-in dispatcher."""

import random
import socket
import struct
import time
from collections.abc import Callable

import pytest

from tests.faults.echo_server import (
    DEADLINE,
    Running,
    exchange,
    frame,
    is_closed,
    receive_frame,
    send_what_fits,
    still_answers,
    wait_for,
)
from tidelog.broker.requests.reply import Reply
from tidelog.server.connection.limits import MIB, ConnectionLimits


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        (struct.pack(">i", -1), "announced a frame of -1 bytes"),
        (struct.pack(">i", 0), "announced a frame of 0 bytes"),
        (struct.pack(">i", 104857601), "announced a frame of 104857601 bytes"),
        (struct.pack(">i", 2**31 - 1), "announced a frame of 2147483647 bytes"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "spoke HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS hello"),
        (frame(b"?"), "broke the protocol: an unknown request"),
    ],
)
def test_what_is_not_a_request_closes_the_connection_and_names_the_client(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture, hello: bytes, said: str
) -> None:
    running = start()
    with running.connect() as sock:
        host, port = sock.getsockname()
        sock.sendall(hello)
        assert is_closed(sock)
    assert [said in line and f"{host}:{port} " in line for line in caplog.messages] == [True]
    still_answers(running)


def test_answers_before_garbage_are_delivered(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"e1") + frame(b"e2") + struct.pack(">i", -5))
        assert receive_frame(sock) == b"e1"
        assert receive_frame(sock) == b"e2"
        assert is_closed(sock)


def test_log_lines_of_strangers_are_bounded(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    begin = time.monotonic()
    for _ in range(200):
        with running.connect() as sock:
            sock.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert is_closed(sock)
    seconds = time.monotonic() - begin
    assert 1 <= len(caplog.messages) <= 11 * (seconds + 1)


def test_a_bug_in_a_handler_costs_one_connection(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"x"))
        assert is_closed(sock)
    assert "a request failed inside the broker" in caplog.text
    assert "a bug in a handler" in caplog.text
    still_answers(running)


def test_half_a_frame_then_silence_is_closed(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start(half_frame_seconds=0.2)
    with running.connect() as header_only, running.connect() as half:
        header_only.sendall(b"\0\0")
        half.sendall(struct.pack(">i", 1000) + b"e half")
        assert is_closed(header_only)
        assert is_closed(half)
    assert caplog.text.count("sent half a frame, then nothing") == 2
    still_answers(running)


def test_idle_connections_are_closed_but_waiting_ones_are_not(start: Callable[..., Running]) -> None:
    running = start(idle_seconds=0.2)
    with running.connect() as idle, running.connect() as waiting:
        waiting.sendall(frame(b"w"))
        assert is_closed(idle)
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        time.sleep(0.3)
        answer = Reply([frame(b"at last")])
        running.ask(lambda: running.dispatcher.waiting[0].set_result(answer))
        assert receive_frame(waiting) == b"at last"


def test_a_byte_at_a_time(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in frame(b"e slow") + frame(b"l slower"):
            sock.sendall(bytes([byte]))
            time.sleep(0.001)
        assert receive_frame(sock) == b"e slow"
        assert receive_frame(sock) == b"l slower"


def test_ten_thousand_pipelined_requests_are_answered_in_order(start: Callable[..., Running]) -> None:
    running = start()
    kinds = random.Random(1).choices([b"e", b"l", b"n"], [90, 1, 9], k=10_000)
    requests = [kind + b"%d" % number for number, kind in enumerate(kinds)]
    expected = b"".join(frame(request) for request in requests if request[:1] != b"n")
    with running.connect() as sock:
        assert exchange(sock, b"".join(map(frame, requests)), len(expected)) == expected


def test_frames_of_all_sizes_arrive_unchanged(start: Callable[..., Running]) -> None:
    running = start()
    rng = random.Random(2)
    sizes = [1, 5, 1000, 65_535, 65_536, 70_000, 262_140, 262_144, 300_000, MIB, 3 * MIB + 1, 9 * MIB, 17]
    bodies = [b"e" + rng.randbytes(size - 1) for size in sizes]
    expected = b"".join(map(frame, bodies))
    with running.connect() as sock:
        assert exchange(sock, expected, len(expected)) == expected
    wait_for(lambda: running.server.connection_count == 0)
    assert running.held_bytes() == 0


def test_one_busy_connection_does_not_starve_another(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as busy, running.connect() as other:
        busy.sendall(frame(b"n" * 10) * 20_000)
        other.sendall(frame(b"e"))
        assert receive_frame(other) == b"e"
        wait_for(lambda: running.dispatcher.seen == 20_001)


def test_a_throttled_answer_mutes_the_next_request(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        begin = time.monotonic()
        sock.sendall(frame(b"t") + frame(b"e"))
        assert receive_frame(sock) == b"t"
        assert receive_frame(sock) == b"e"
        assert time.monotonic() - begin >= 0.19


def test_an_answer_may_end_the_connection(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"c") + frame(b"e" * 1000))
        assert receive_frame(sock) == b"c"
        assert is_closed(sock)


def test_a_last_answer_arrives_whole_though_the_client_goes_on_sending(start: Callable[..., Running]) -> None:
    running = start(linger_seconds=DEADLINE)  # on a busy machine the client may need that
    with running.connect() as sock:
        sock.sendall(frame(b"C"))
        send_what_fits(sock, frame(b"e" * 1000) * 4000)
        sock.settimeout(DEADLINE)
        assert len(receive_frame(sock)) == 8 * MIB
        assert is_closed(sock)


def test_too_many_requests_under_way_wait(start: Callable[..., Running]) -> None:
    running = start(in_flight_max=10)
    with running.connect() as sock:
        sock.sendall(frame(b"w") * 30)
        wait_for(lambda: len(running.dispatcher.waiting) == 10)
        time.sleep(0.05)
        waiting = running.dispatcher.waiting
        assert len(waiting) == 10
        for number in range(30):
            wait_for(lambda number=number: len(waiting) > number)  # type: ignore[misc]
            answer = Reply([frame(b"%d" % number)])
            running.ask(lambda number=number, answer=answer: waiting[number].set_result(answer))  # type: ignore[misc]
            assert receive_frame(sock) == b"%d" % number


def test_requests_of_a_client_that_left_are_cancelled(start: Callable[..., Running]) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
    wait_for(running.dispatcher.waiting[0].cancelled)
    wait_for(lambda: running.server.held_bytes == 0)


def test_a_request_that_the_broker_cancels_ends_the_connection_quietly(
    start: Callable[..., Running], caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    with running.connect() as sock:
        sock.sendall(frame(b"w"))
        wait_for(lambda: len(running.dispatcher.waiting) == 1)
        running.ask(running.dispatcher.waiting[0].cancel)
        assert is_closed(sock)
    assert caplog.messages == []


def test_connection_limits(start: Callable[..., Running], caplog: pytest.LogCaptureFixture) -> None:
    running = start(connections_per_ip_max=2)
    with running.connect() as first, running.connect():
        wait_for(lambda: running.server.connection_count == 2)  # a client's side of TLS is ready earlier
        assert running.refuses()
        assert "max.connections.per.ip=2 reached" in caplog.text
        first.close()
        wait_for(lambda: running.server.connection_count == 1)
        still_answers(running)
    total = start(connections_max=1)
    with total.connect():
        assert total.refuses()
        assert "max.connections=1 reached" in caplog.text
        total.ask(lambda: total.server.change_limits(ConnectionLimits(connections_max=2)))
        still_answers(total)
