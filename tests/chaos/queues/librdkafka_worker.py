"""A process that is a member of a share group on librdkafka: it takes records and settles each of them.

It accepts most, releases and rejects some, and writes down what it does as worker.py does. What librdkafka
fetches and does not hand over is not seen: for each poll, a fetch without an answer stands for that.
"""

import argparse
import random
import sys
import threading
import time

import msgspec
from confluent_kafka import AcknowledgeType, KafkaError, KafkaException, Message, ShareConsumer

from tests.chaos.queues.worker import COMPLAINT, Journal, parse_options, tell
from tests.chaos.recorded_clients import PASSING, RECONNECT
from tidelog.shares.states import AckType
from tidelog.testing.history import Completion
from tidelog.testing.share_history import Ack, Acknowledge, ShareGroupPlan, Take, Taken

KINDS = (AckType.ACCEPT,) * 8 + (AckType.RELEASE, AckType.REJECT)
COMMIT_S = 10.0


class Member:
    def __init__(self, options: argparse.Namespace) -> None:
        self._name = options.name
        self._plan = msgspec.json.decode(options.plan, type=ShareGroupPlan)
        self._chance = random.Random(options.name)
        self._journal = Journal()
        self._last_poll = time.monotonic()
        self.is_draining = self.is_stopping = False
        self._consumer = ShareConsumer(
            {
                "bootstrap.servers": ",".join(options.servers),
                "client.id": options.name,
                "group.id": self._plan.group,
                "share.acknowledgement.mode": "explicit",
                "fetch.wait.max.ms": 100,
                "topic.metadata.refresh.interval.ms": 5_000,
                **RECONNECT,
            }
        )
        self._consumer.subscribe(options.topics)

    def run(self) -> None:
        while not self.is_stopping:
            self._step()
        self._consumer.close()

    def _step(self) -> None:
        # What a poll hands over may have come any time since the last poll began.
        began, self._last_poll = self._last_poll, time.monotonic()
        take = self._journal.add(Take(self._plan.group, self._name, self._name, began))
        hidden = self._journal.add(Take(self._plan.group, self._name, self._name, began))
        messages = [one for one in self._poll() if one.error() is None]
        take.ended, take.outcome = time.monotonic(), Completion.OK
        take.clock_ms = time.time_ns() // 1_000_000
        take.records = [
            Taken(
                f"{one.topic()}-{one.partition()}", one.offset(), one.value().decode(), one.delivery_count()
            )
            for one in messages
        ]
        self._journal.finished(take)
        if messages:
            self._settle(messages, take.records)
        hidden.ended = time.monotonic()
        self._journal.finished(hidden)

    def _poll(self) -> list[Message]:
        try:
            messages = list(self._consumer.poll(0.3))
        except KafkaException as failure:
            self._complain(failure.args[0])
            return []
        for message in messages:
            if (
                (error := message.error()) is not None
                and not error.retriable()
                and error.code() not in PASSING
            ):
                tell({COMPLAINT: f"poll: {error}"})
        return messages

    def _settle(self, messages: list[Message], records: list[Taken]) -> None:
        kinds = [AckType.ACCEPT if self.is_draining else self._chance.choice(KINDS) for _ in messages]
        pairs = zip(records, kinds, strict=True)
        acks = [Ack(one.partition, one.offset, kind, one.count) for one, kind in pairs]
        now = time.monotonic()
        event = self._journal.add(Acknowledge(self._plan.group, self._name, self._name, now, acks=acks))
        for message, kind in zip(messages, kinds, strict=True):
            self._consumer.acknowledge(message, AcknowledgeType(int(kind)))
        answers = {}
        try:
            answers = self._consumer.commit_sync(COMMIT_S)
        except KafkaException as failure:
            self._complain(failure.args[0])
        event.ended = time.monotonic()
        for place, failure in answers.items():
            for ack in event.acks:
                if ack.partition == f"{place.topic}-{place.partition}" and failure is None:
                    ack.outcome = Completion.OK
        self._journal.finished(event)

    @staticmethod
    def _complain(error: KafkaError) -> None:
        if not error.retriable() and error.code() not in PASSING:
            tell({COMPLAINT: str(error)})

    def listen(self) -> None:
        """The end of stdin is the end of the test."""
        while sys.stdin.readline().strip() == "drain":
            self.is_draining = True
        self.is_stopping = True


def place_of(message: Message) -> str:
    return f"{message.topic()}-{message.partition()}"


def main() -> None:
    member = Member(parse_options())
    threading.Thread(target=member.listen, daemon=True).start()
    member.run()


if __name__ == "__main__":
    main()
