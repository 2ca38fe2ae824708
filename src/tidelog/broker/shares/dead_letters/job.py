"""Writes the dead letters of one share partition, a batch at a time, until there are none.

A batch is saved as begun before it is sent, and its records as archived after: a leader that stops in between
leaves a begun batch, which the next leader sends again with the same sequence numbers. See ADR 0025.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from tidelog.base.errors import KafkaError
from tidelog.base.ids import Offset, ProducerId, Uuid
from tidelog.base.ports import Clock
from tidelog.broker.controller.metadata_service import MetadataService
from tidelog.broker.log_dirs.flusher import RunInThread
from tidelog.broker.shares.dead_letters.reading import FoundRecords, read_failed
from tidelog.broker.shares.dead_letters.saving import saved
from tidelog.broker.shares.dead_letters.sending import SEQUENCE_LOST, LetterSender
from tidelog.broker.shares.led_share import LedShare
from tidelog.shares.dead_letters.batches import build_batch, count_that_fits
from tidelog.shares.dead_letters.letters import FailedRecord, Origin, Reason, write_letters
from tidelog.shares.dead_letters.target import (
    Archived,
    Creatable,
    NoTarget,
    Target,
    choose_target,
    dead_letter_settings,
    target_in,
)
from tidelog.shares.partition.dead_letters import Undeliverable
from tidelog.shares.states import DeadLetterWrite
from tidelog.wire.record_body import Record

LETTERS_MAX: Final = 500
BATCH_BYTES: Final = 256 * 1024
"""Of a batch of dead letters, unless its first is larger. Bounds the memory of a write."""
SEQUENCES: Final = 1 << 31


class HeldUpError(Exception):
    """Dead letters cannot be written now. Its text says why, and what to do."""


class LetterTools(NamedTuple):
    """What the jobs of a broker share."""

    clock: Clock
    metadata: MetadataService
    sender: LetterSender
    take_producer_id: Callable[[], Awaitable[ProducerId]]
    run_in_thread: RunInThread
    slots: asyncio.Semaphore
    """So many jobs have records in memory at once."""


class _Numbers(NamedTuple):
    """The producer of this job, for one partition of the dead-letter topic."""

    producer_id: ProducerId
    epoch: int
    next_sequence: int
    topic_id: Uuid
    partition: int


class LetterJob:
    __slots__ = ("_known", "_numbers", "_tools", "led", "origin")

    def __init__(self, led: LedShare, tools: LetterTools) -> None:
        self.led = led
        self.origin = Origin(led.partition.topic, led.partition.index, led.place.group_id)
        self._tools = tools
        self._numbers: _Numbers | None = None
        self._known: dict[Offset, FailedRecord] = {}
        """Of the write that is under way: retention may take a record, and its count, before it is sent."""

    async def step(self) -> int:
        """One batch, or what has to come before. Returns the number of dead letters that were written.

        HeldUpError, KafkaError or OSError if it has to be tried again.
        """
        share = self.led.share
        if share.dead_letters is not None:
            async with self._tools.slots:
                return await self._send_begun(share.dead_letters)
        image, config = self._tools.metadata.image, self._tools.metadata.config
        target = choose_target(image, config, self.origin)
        match target:
            case Archived():
                share.archive_undeliverable()
                self.led.changed()
            case NoTarget(why):
                raise HeldUpError(why)
            case Creatable(name):
                await self._create(name)
            case Target():
                async with self._tools.slots:
                    return await self._send_new(target)
        return 0

    async def _create(self, name: str) -> None:
        try:
            await self._tools.sender.create(name)
        except (KafkaError, OSError) as error:
            raise HeldUpError(f"the dead-letter topic {name} cannot be created: {error}") from error
        if name not in self._tools.metadata.image.topics:
            raise HeldUpError(f"the dead-letter topic {name} is being created")

    async def _send_new(self, target: Target) -> int:
        share, tools = self.led.share, self._tools
        failed = _one_by_one(share.first_undeliverable(LETTERS_MAX))
        if not failed:
            return 0
        bytes_max = min(target.bytes_max, BATCH_BYTES)
        found = await self._read([one.offset for one in failed], bytes_max)
        if found is not None:
            failed = failed[: found.covered]
        letters = self._letters(failed, found)
        letters = letters[: count_that_fits(letters, bytes_max)]
        failed = failed[: len(letters)]
        numbers = self._numbers
        if numbers is None or (numbers.topic_id, numbers.partition) != (target.topic_id, target.partition):
            producer_id = await tools.take_producer_id()
            numbers = self._numbers = _Numbers(producer_id, 0, 0, target.topic_id, target.partition)
        begun = share.begin_dead_letters(
            numbers.producer_id,
            numbers.epoch,
            numbers.next_sequence,
            target.topic_id,
            target.partition,
            offsets=_ranges([one.offset for one in failed]),
        )
        if begun is None:  # retention took some meanwhile: look again
            return 0
        self._known = {one.offset: one for one in failed}
        await saved(self.led, tools.clock)
        return await self._send(target, begun, letters)

    async def _send_begun(self, begun: DeadLetterWrite) -> int:
        """Also of an earlier leader. It stays with its topic, whatever the settings say by now."""
        share, tools = self.led.share, self._tools
        image, config = tools.metadata.image, tools.metadata.config
        topic = image.topic_by_id(begun.topic_id)
        if topic is None:
            share.forget_dead_letters()
            self.led.changed()
            return 0
        target = target_in(topic, begun.partition, config)
        if isinstance(target, NoTarget):
            raise HeldUpError(target.why)
        await saved(self.led, tools.clock)  # of a job that was held up before it was
        for one in _one_by_one(share.dead_letter_reasons()):
            self._known.setdefault(one.offset, one)
        offsets = [at for first, last in begun.offsets for at in range(first, last + 1)]
        unknown = Reason.TOO_OFTEN
        failed = [self._known.get(at) or FailedRecord(at, 0, unknown) for at in offsets]
        found = await self._read(offsets, max(target.bytes_max, BATCH_BYTES))
        return await self._send(target, begun, self._letters(failed, found))

    async def _send(self, target: Target, begun: DeadLetterWrite, letters: Sequence[Record]) -> int:
        share, tools = self.led.share, self._tools
        batch = build_batch(
            letters,
            target.bytes_max,
            producer_id=begun.producer_id,
            producer_epoch=begun.producer_epoch,
            first_sequence=begun.first_sequence,
        )
        try:
            await tools.sender.send(target, batch)
        except (KafkaError, OSError) as error:
            if isinstance(error, KafkaError) and error.code in SEQUENCE_LOST:
                await self._renumber(begun, error)
            raise HeldUpError(
                f"{target.name}-{target.partition} on broker {target.leader} did not take them: "
                f"{str(error) or type(error).__name__}"
            ) from error
        if self.led.error is not None:
            return 0
        self._numbers = _Numbers(
            begun.producer_id,
            begun.producer_epoch,
            (begun.first_sequence + len(letters)) % SEQUENCES,
            begun.topic_id,
            begun.partition,
        )
        self._known = {}
        share.dead_letters_written()
        if not share.has_archiving:
            self.led.changed()  # else the save that begins the next batch brings this, too
        return len(letters)

    async def _renumber(self, begun: DeadLetterWrite, error: KafkaError) -> None:
        """The partition lost what the producer wrote before, so that its numbers have a gap."""
        producer_id = await self._tools.take_producer_id()
        self.led.share.renumber_dead_letters(producer_id, 0, 0)
        self.led.changed()
        raise HeldUpError(
            f"the dead-letter topic has lost what producer {begun.producer_id} wrote to it: {error}. "
            f"Producer {producer_id} goes on"
        ) from error

    async def _read(self, offsets: Sequence[Offset], bytes_max: int) -> FoundRecords | None:
        """None: the group wants no copies."""
        tools = self._tools
        group_id = self.origin.group
        if not dead_letter_settings(tools.metadata.image, tools.metadata.config, group_id).copies_records:
            return None
        return await read_failed(self.led.partition, offsets, bytes_max, tools.run_in_thread)

    def _letters(self, failed: Sequence[FailedRecord], found: FoundRecords | None) -> list[Record]:
        records = None if found is None else found.records
        return write_letters(self.origin, failed, records, self._tools.clock.now_ms())


def _one_by_one(runs: Sequence[Undeliverable]) -> list[FailedRecord]:
    return [
        FailedRecord(at, run.delivery_count, Reason.REJECTED if run.rejected else Reason.TOO_OFTEN)
        for run in runs
        for at in range(run.first, run.last + 1)
    ]


def _ranges(offsets: Sequence[Offset]) -> tuple[tuple[Offset, Offset], ...]:
    ranges: list[tuple[Offset, Offset]] = []
    for at in offsets:
        if ranges and ranges[-1][1] + 1 == at:
            ranges[-1] = (ranges[-1][0], at)
        else:
            ranges.append((at, at))
    return tuple(ranges)
