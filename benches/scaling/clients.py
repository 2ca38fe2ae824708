"""What clients' connections cost: memory of each that waits for records, and CPU of the broker for its polls.

A client that uses partitions of all cores has a connection for each core, so these costs come N times.
"""

import selectors
import socket
import time

from benches.rig.broker_process import BrokerProcess
from benches.rig.frames import batch_of, create_topic, fetch_frame, produce_frame
from benches.rig.load import answer_size, connect
from benches.rig.report import show

COUNTS = (0, 500, 1_000, 2_000)
WATCH_SECONDS, SETTLED_SECONDS = 10.0, 3.0


def main() -> None:
    with BrokerProcess() as broker:
        create_topic(broker.address, "tail", 1)
        answer_size(broker.address, produce_frame("tail", batch_of(1024)))
        poll = fetch_frame("tail", 1, 1 << 20)
        resting = broker.rss_bytes()
        waiting = selectors.DefaultSelector()
        idle_cpu = 0.0
        for count in COUNTS:
            while len(waiting.get_map()) < count:
                sock = connect(broker.address)
                waiting.register(sock, selectors.EVENT_READ)
                sock.sendall(poll)
            _poll(waiting, poll, SETTLED_SECONDS)
            before = broker.cpu_seconds()
            polls = _poll(waiting, poll, WATCH_SECONDS)
            busy = (broker.cpu_seconds() - before) / WATCH_SECONDS
            if not count:
                idle_cpu = busy
                continue
            name = f"{count} consumers that wait"
            show(f"{name}: memory of each", (broker.rss_bytes() - resting) / count / 1000, "kB")
            show(f"{name}: polls", polls / WATCH_SECONDS / count, "a second each")
            show(f"{name}: CPU of the broker", (busy - idle_cpu) / count * 1e6, "us a second each")


def _poll(waiting: selectors.BaseSelector, request: bytes, seconds: float) -> int:
    """Asks again on each connection that is answered; how often."""
    end, polls = time.perf_counter() + seconds, 0
    while (left := end - time.perf_counter()) > 0:
        for key, _ in waiting.select(left):
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if not sock.recv(65536):
                raise ConnectionError("the broker closed the connection")
            sock.sendall(request)
            polls += 1
    return polls
