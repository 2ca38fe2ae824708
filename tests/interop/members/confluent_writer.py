"""A writer on confluent-kafka, that is librdkafka."""

import threading
from collections.abc import Callable

from confluent_kafka import Producer


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
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 0,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        topic, partition = self._where
        number = 0
        while not self._stopping.is_set():
            self._producer.produce(
                topic,
                b"%d" % number,
                partition=partition,
                on_delivery=lambda error, message, number=number: self._note(
                    number, -1 if error else message.offset(), str(error or "")
                ),
            )
            number += 1
            self._producer.poll(self._every_s)
            self._stopping.wait(self._every_s)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._producer.flush(60)
