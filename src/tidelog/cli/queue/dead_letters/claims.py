"""What redrives write into the dead-letter topic, beside the letters: claims, and what became of them. Pure.

A claim names the letters of its partition that are about to be put back, where to, and under which producer
id. Anyone can then send that batch, any number of times: the target topic takes it once. `done` says that it
has been sent; `released` says that it never will be, since its target is gone or too much time has passed.
Values are JSON, for people who look at the topic.
"""

import json
from dataclasses import dataclass
from enum import StrEnum

from tidelog.base.ids import Uuid, uuid_parse, uuid_text
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.queue.dead_letters.offset_set import Ranges, count_of
from tidelog.clients.records import TopicPartition
from tidelog.wire.record_body import Record

HEADER = "tidelog-redrive"
LETTERS_MAX = 100_000
"""Of one claim; a record that says more was made up."""


class Step(StrEnum):
    CLAIM = "claim"
    DONE = "done"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Claim:
    letters: Ranges
    """Offsets of letters in the partition that the claim is written to."""
    topic_id: Uuid
    """Of the dead-letter topic: a claim means nothing in another topic of the same name."""
    target: TopicPartition
    target_id: Uuid
    writer: ProducerIdentity
    made_ms: int

    @property
    def count(self) -> int:
        return count_of(self.letters)


@dataclass(frozen=True, slots=True)
class Ending:
    step: Step
    writer: ProducerIdentity


def claim_record(claim: Claim) -> Record:
    value = {
        "letters": claim.letters,
        "topic_id": uuid_text(claim.topic_id),
        "to": {
            "topic": claim.target.topic,
            "topic_id": uuid_text(claim.target_id),
            "partition": claim.target.partition,
        },
        **_writer_json(claim.writer),
    }
    return _record(Step.CLAIM, value, claim.made_ms)


def ending_record(ending: Ending, now_ms: int) -> Record:
    return _record(ending.step, _writer_json(ending.writer), now_ms)


def read_step(record: Record) -> Claim | Ending | None:
    """None for a record that is no step of a redrive, or is damaged."""
    named = [value for name, value in record.headers if name == HEADER]
    if not named or named[-1] is None or record.value is None:
        return None
    try:
        step, value = Step(named[-1].decode()), json.loads(record.value)
        writer = ProducerIdentity(int(value["producer_id"]), int(value["producer_epoch"]))
        if step is not Step.CLAIM:
            return Ending(step, writer)
        to = value["to"]
        return Claim(
            _ranges(value["letters"], record.offset),
            uuid_parse(value["topic_id"]),
            TopicPartition(str(to["topic"]), int(to["partition"])),
            uuid_parse(to["topic_id"]),
            writer,
            record.timestamp,
        )
    except (ValueError, KeyError, TypeError):
        return None


def _record(step: Step, value: object, now_ms: int) -> Record:
    text = json.dumps(value, separators=(",", ":")).encode()
    return Record(0, now_ms, HEADER.encode(), text, [(HEADER, step.encode())])


def _writer_json(writer: ProducerIdentity) -> dict[str, int]:
    return {"producer_id": writer.producer_id, "producer_epoch": writer.epoch}


def _ranges(listed: list[list[int]], end: int) -> Ranges:
    ranges = tuple((int(first), int(last)) for first, last in listed)
    before = -1
    for first, last in ranges:
        if not before < first <= last < end:
            raise ValueError("ranges of letters ascend, and end before the claim")
        before = last
    if not ranges or count_of(ranges) > LETTERS_MAX:
        raise ValueError("too many letters, or none")
    return ranges
