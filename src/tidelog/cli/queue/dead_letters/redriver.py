"""Puts letters of one partition of a dead-letter topic back: claim, send, done; see docs/queues.md.

The claim is in the log before the first byte of a copy leaves, and names the producer id of the batch. So
whatever is interrupted, the next redrive knows what may have been sent, and sends it again under the same
producer id, which the target's leader recognises.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.partition_log import PartitionLog
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.queue.dead_letters.claims import Claim, Ending, Step, claim_record, ending_record, read_step
from tidelog.cli.queue.dead_letters.copies import build_copies
from tidelog.cli.queue.dead_letters.ledger import Ledger
from tidelog.cli.queue.dead_letters.letter import Letter, read_letter
from tidelog.cli.queue.dead_letters.offset_set import OffsetSet, ranges_of
from tidelog.clients.records import TopicPartition
from tidelog.wire.batch import BatchHeader
from tidelog.wire.record import write_batch

HOUR_MS = 3_600_000
SENDABLE_MS = 11 * HOUR_MS
"""Up to this age a claim may be sent: leaders surely remember its writer, if it has sent before. Their
`producer.id.expiration.ms` is a day by default."""
RELEASABLE_MS = 12 * HOUR_MS
"""From this age on a claim may be released. The hour between is for clocks that differ, and for requests that
are under way."""

_THERE_ALREADY = (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
"""The writer has sent a batch: only this one, so it is this one, or had more letters when it was sent."""


class Ports(NamedTuple):
    """What a redrive needs of the world."""

    open_log: Callable[[str, int], PartitionLog | None]
    """The log of a partition of a topic, as it is now; None where there is none."""
    new_writer: Callable[[], ProducerIdentity]
    now_ms: Callable[[], int]


class Redriver:
    def __init__(self, log: PartitionLog, ports: Ports) -> None:
        self.log = log
        self.ledger = Ledger(log.topic.id)
        self.unsure: list[Claim] = []
        """Claims so old that a second sending might be a second copy."""
        self._ports = ports
        self._place = TopicPartition(*log.place)
        self._start = log.bounds()[0]
        self.position = 0
        """Up to here the claims were read."""

    def catch_up(self, end: int | None = None) -> None:
        """Reads the claims up to there, or to the end of the log as it is now."""
        end = self.log.bounds()[1] if end is None else end
        start = max(self.position, self._start)
        for record in self.log.records(start, end, is_wanted=may_have_steps):
            if (step := read_step(record)) is not None:
                self.ledger.apply(step)
        self.position = max(end, start)

    def letters(self) -> Iterator[Letter]:
        """Letters that were not put back, and that no claim is about to put back."""
        start, end = self.log.bounds(read_committed=True)
        for record in self.log.records(start, end, read_committed=True):
            if not self.ledger.is_taken(record.offset):
                letter = read_letter(self._place, record)
                if letter is not None:
                    yield letter

    def put_back(self, letters: Sequence[Letter], target: TopicPartition, bytes_max: int) -> int:
        """Returns how many of the letters this call has put back; another redrive may have taken some."""
        while letters:
            goal = self._ports.open_log(*target)
            if goal is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{target} is gone")
            writer, now_ms = self._ports.new_writer(), self._ports.now_ms()
            offsets = ranges_of(letter.offset for letter in letters)
            claim = Claim(offsets, self.log.topic.id, target, goal.topic.id, writer, now_ms)
            # All that came before the claim decides whether it counts.
            self.catch_up(self.log.append(write_batch([claim_record(claim)])) + 1)
            if self.ledger.holds(writer):
                self._send(claim, goal, letters, bytes_max)
                return len(letters)
            if self.ledger.is_ended(writer):  # another redrive saw the claim, and was quicker
                return len(letters)
            letters = [letter for letter in letters if not self.ledger.is_taken(letter.offset)]
        return 0

    def complete(self, claim: Claim, bytes_max: int, *, resend: bool = False) -> int:
        """Carries out what another redrive began. Returns how many letters that has put back."""
        now_ms = self._ports.now_ms()
        goal = self._ports.open_log(*claim.target)
        if goal is None or goal.topic.id != claim.target_id:
            # What was sent went with the topic; the letters are free again, for its successor or another.
            self._end(claim, Step.RELEASED)
            return 0
        age_ms = now_ms - claim.made_ms
        if age_ms > SENDABLE_MS:
            if resend and age_ms > RELEASABLE_MS:
                self._end(claim, Step.RELEASED)
            else:
                self.unsure.append(claim)
            return 0
        letters = list(self._claimed(claim))
        self._send(claim, goal, letters, bytes_max)
        return len(letters)

    def _claimed(self, claim: Claim) -> Iterator[Letter]:
        """In one pass: letters for several targets lie in turns, so a claim can have many ranges."""
        claimed = OffsetSet()
        for first, last in claim.letters:
            claimed.add(first, last)

        def has_claimed(batch: BatchHeader) -> bool:
            return claimed.meets(batch.base_offset, batch.last_offset)

        start, end = claim.letters[0][0], claim.letters[-1][1] + 1
        for record in self.log.records(start, end, is_wanted=has_claimed):
            if record.offset in claimed and (letter := read_letter(self._place, record)) is not None:
                yield letter

    def _send(self, claim: Claim, goal: PartitionLog, letters: Sequence[Letter], bytes_max: int) -> None:
        if self._ports.now_ms() - claim.made_ms > SENDABLE_MS:  # this machine slept since the claim
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{claim.count} letters were claimed hours ago")
        if letters:
            batch = build_copies(letters, claim.writer, claim.made_ms, bytes_max)
            try:
                goal.append(batch)
            except KafkaError as error:
                if error.code not in _THERE_ALREADY:
                    raise
        self._end(claim, Step.DONE)

    def _end(self, claim: Claim, step: Step) -> None:
        self.log.append(write_batch([ending_record(Ending(step, claim.writer), self._ports.now_ms())]))


def may_have_steps(header: BatchHeader) -> bool:
    """Steps are written one by one, neither compressed nor within transactions; letters have producer ids."""
    return header.producer_id < 0 and header.record_count == 1 and not header.is_transactional
