"""Sends prebuilt bytes with a bounded number of messages unconfirmed, and reads messages back.

Nothing is built or decoded for a single message here, so that the generator is not what is measured.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence

from benches.versus.generator import Run

UNCONFIRMED_MAX = 10_000
BLOCK = 500
"""Messages that are sent together."""
SILENCE_SECONDS_MAX = 60
RECEIVED_BYTES_MAX = 1 << 18


def sample(size: int) -> bytes:
    """Text as events are, like that of load.c."""
    events = (b'{"user": %d, "page": "/item/%d"} ' % (i * 7919 % 100_000, i) for i in range(size // 20 + 1))
    return b"".join(events)[:size]


def send(
    connection: socket.socket, blocks: Sequence[bytes], count: int, confirmed: Callable[[bytes], int]
) -> Run:
    """Sends the blocks in turn; `confirmed` says how many messages some received bytes confirm.

    Reading goes on while a block is half sent: a server that waits for its answers to be read reads nothing.
    """
    if count % BLOCK:
        raise ValueError(f"{count} messages are not whole blocks of {BLOCK}")
    connection.setblocking(False)
    began, cpu = time.perf_counter(), time.process_time()
    sent = answered = 0
    rest = memoryview(b"")
    while answered < count:
        if not rest and sent < count and sent + BLOCK - answered <= UNCONFIRMED_MAX:
            rest = memoryview(blocks[sent // BLOCK % len(blocks)])
            sent += BLOCK
        readable, writable, _ = select.select(
            [connection], [connection] if rest else [], [], SILENCE_SECONDS_MAX
        )
        if not readable and not writable:
            raise RuntimeError(f"no answer for {SILENCE_SECONDS_MAX} s after {answered} of {count} messages")
        if readable:
            answered += confirmed(_received(connection))
        if writable:
            rest = rest[connection.send(rest) :]
    run = Run(count, time.perf_counter() - began, time.process_time() - cpu, {})
    connection.setblocking(True)
    return run


def read(connection: socket.socket, count: int, arrived: Callable[[bytes], int]) -> Run:
    """Until `count` messages came. The clock starts with the first bytes, as that of load.c does."""
    connection.settimeout(SILENCE_SECONDS_MAX)
    uncounted = got = arrived(_received(connection))
    began, cpu = time.perf_counter(), time.process_time()
    while got < count:
        got += arrived(_received(connection))
    return Run(got - uncounted, time.perf_counter() - began, time.process_time() - cpu, {})


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(RECEIVED_BYTES_MAX)
    if not data:
        raise RuntimeError("the server closed the connection")
    return data
