"""A redrive at work, partition by partition of the dead-letter topic, with a line that counts up."""

import sys

from tidelog.base.errors import KafkaError
from tidelog.cli.queue.dead_letters.copies import Batches, Full
from tidelog.cli.queue.dead_letters.filters import LetterFilter
from tidelog.cli.queue.dead_letters.redriver import Redriver
from tidelog.cli.queue.dead_letters.tally import Tally
from tidelog.cli.queue.dead_letters.targets import Targets


class Work:
    def __init__(
        self,
        targets: Targets,
        wanted: LetterFilter,
        tally: Tally,
        *,
        count: int | None = None,
        shows_progress: bool = False,
    ) -> None:
        """`count` limits the letters; None: all that are wanted."""
        self._targets, self._wanted, self._tally, self._count = targets, wanted, tally, count
        self._shows_progress = shows_progress and sys.stderr.isatty()

    def plan(self, redriver: Redriver) -> None:
        """Only counts."""
        self._tally.begun += sum(claim.count for claim in redriver.ledger.open_claims)
        self._go_through(redriver, execute=False)

    def execute(self, redriver: Redriver, *, resend: bool = False) -> None:
        """First completes what other redrives have begun. `resend`: also where it is not known any more."""
        for claim in redriver.ledger.open_claims:
            bytes_max = self._targets.bytes_max(claim.target.topic)
            try:
                letters = redriver.complete(claim, bytes_max, resend=resend)
            except KafkaError as error:
                self._tally.fail(claim.target, error)
                continue
            self._tally.completed += letters
            self._tally.put_back += letters
        self._tally.unsure += sum(claim.count for claim in redriver.unsure)
        redriver.catch_up()
        self._go_through(redriver, execute=True)
        self._draw("\r\x1b[K")

    def _go_through(self, redriver: Redriver, *, execute: bool) -> None:
        batches, tally = Batches(), self._tally
        for letter in redriver.letters():
            if self._count is not None and tally.total >= self._count:
                break
            if not self._wanted.takes(letter):
                tally.passed_over += 1
                continue
            target = self._targets.of(letter)
            tally.count(letter, target if isinstance(target, str) else target.place)
            if execute and not isinstance(target, str):
                for full in batches.add(letter, target.place, target.bytes_max):
                    self._put_back(redriver, full)
        for full in batches.rest():
            self._put_back(redriver, full)

    def _put_back(self, redriver: Redriver, full: Full) -> None:
        target, letters = full
        try:
            self._tally.put_back += redriver.put_back(letters, target, self._targets.bytes_max(target.topic))
        except KafkaError as error:
            self._tally.fail(target, error)
        self._draw(f"\r{self._tally.put_back:,} put back, {self._tally.passed_over:,} passed over")

    def _draw(self, line: str) -> None:
        if self._shows_progress:
            sys.stderr.write(line)
            sys.stderr.flush()
