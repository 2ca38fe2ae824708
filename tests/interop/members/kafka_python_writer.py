"""A writer on kafka-python."""

import threading
from collections.abc import Callable

from kafka import KafkaProducer


class Writer:
    def __init__(
        self,
        note: Callable[[int, int, str], None],
        *,
        bootstrap: str,
        topic: str,
        partition: int,
        every_ms: int,
    ) -> None:
        self._note = note
        self._where = (topic, partition)
        self._every_s = every_ms / 1000
        self._producer = KafkaProducer(
            bootstrap_servers=bootstrap, acks="all", enable_idempotence=True, reconnect_backoff_max_ms=500
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        topic, partition = self._where
        number = 0
        while not self._stopping.is_set():
            future = self._producer.send(topic, b"%d" % number, partition=partition)
            future.add_callback(lambda written, number=number: self._note(number, written.offset, ""))
            future.add_errback(lambda error, number=number: self._note(number, -1, repr(error)))
            number += 1
            self._stopping.wait(self._every_s)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(60)
        self._producer.close()
