"""Which letters of a partition were put back, or are about to be, from the claims in their order. Pure.

The log decides between redrives that run at once: of two claims to the same letter the first counts, and the
other is void as a whole. Every reader of the log comes to the same result.
"""

from tidelog.base.ids import Uuid
from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.queue.dead_letters.claims import Claim, Ending, Step
from tidelog.cli.queue.dead_letters.offset_set import OffsetSet


class Ledger:
    def __init__(self, topic_id: Uuid) -> None:
        self._topic_id = topic_id
        self._taken = OffsetSet()
        self._open: dict[ProducerIdentity, Claim] = {}
        self._ended: set[ProducerIdentity] = set()
        """Writers of claims that are over. A claim that a retry appended again after its end stays void."""

    def apply(self, step: Claim | Ending) -> None:
        if isinstance(step, Ending):
            self._end(step)
        elif (
            step.topic_id == self._topic_id
            and step.writer not in self._open
            and step.writer not in self._ended
            and not any(self._taken.meets(*letters) for letters in step.letters)
        ):
            self._open[step.writer] = step
            for letters in step.letters:
                self._taken.add(*letters)

    def is_taken(self, offset: int) -> bool:
        """Whether the letter was put back, or a claim to it counts."""
        return offset in self._taken

    def holds(self, writer: ProducerIdentity) -> bool:
        """Whether the claim of this writer counts, and is not ended."""
        return writer in self._open

    def is_ended(self, writer: ProducerIdentity) -> bool:
        return writer in self._ended

    @property
    def open_claims(self) -> list[Claim]:
        """Begun and not ended: by a redrive that still runs, or was interrupted."""
        return list(self._open.values())

    def _end(self, ending: Ending) -> None:
        claim = self._open.pop(ending.writer, None)
        self._ended.add(ending.writer)
        if claim is not None and ending.step is Step.RELEASED:
            for letters in claim.letters:
                self._taken.remove(*letters)
