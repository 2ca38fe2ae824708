"""The records that are put back: no dead letters any more, in batches that their topic takes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.blocking.producer_identity import ProducerIdentity
from tidelog.cli.queue.dead_letters.letter import REDRIVEN, Letter
from tidelog.clients.records import TopicPartition
from tidelog.wire.batch import HEADER
from tidelog.wire.compression import Codec
from tidelog.wire.record import write_batch
from tidelog.wire.record_body import Record, encode_records

Full = tuple[TopicPartition, list[Letter]]

LETTERS_MAX = 2000
"""Of one batch: as much as an interrupted redrive leaves for the next one to complete."""
PENDING_BYTES_MAX = 16 << 20
"""Of letters that wait for their batch to be full, for all targets together."""


def copy_of(letter: Letter, number: int, now_ms: int) -> Record:
    """The record with the time of its return: retention and delays count from then on."""
    headers = [(name, value) for name, value in letter.headers if name != REDRIVEN]
    headers.append((REDRIVEN, str(letter.redriven_count + 1).encode()))
    return Record(number, now_ms, letter.key, letter.value, headers)


def copy_bytes(letter: Letter) -> int:
    return len(encode_records([copy_of(letter, 0, 0)], 0, 0))


def fits(letter: Letter, bytes_max: int) -> bool:
    """Whether a topic takes it, in a batch of its own and compressed if need be."""
    size = len(letter.key or b"") + len(letter.value or b"")
    size += sum(len(name) + len(value or b"") + 10 for name, value in letter.headers)
    if size <= bytes_max // 2:  # without the work of `copy_bytes`, for almost all letters
        return True
    return len(build_copies([letter], ProducerIdentity(0, 0), 0, bytes_max)) <= bytes_max


def build_copies(
    letters: Sequence[Letter], writer: ProducerIdentity, now_ms: int, bytes_max: int
) -> bytearray:
    """Compressed only where the topic would refuse it otherwise. Sequence numbers begin at 0: the writer
    sends this batch and no other."""
    copies = [copy_of(letter, number, now_ms) for number, letter in enumerate(letters)]
    batch = bytearray()
    for codec in (Codec.NONE, Codec.ZSTD):
        batch = write_batch(
            copies, codec=codec, producer_id=writer.producer_id, producer_epoch=writer.epoch, base_sequence=0
        )
        if len(batch) <= bytes_max:
            break
    return batch


@dataclass(slots=True)
class Pending:
    """Letters for one partition that wait until their batch is full."""

    letters: list[Letter] = field(default_factory=list)
    bytes: int = HEADER.size

    def add(self, letter: Letter, size: int) -> None:
        self.letters.append(letter)
        self.bytes += size


class Batches:
    """Sorts letters into batches by target."""

    def __init__(self) -> None:
        self._pending: dict[TopicPartition, Pending] = {}
        self._bytes = 0

    def add(self, letter: Letter, target: TopicPartition, bytes_max: int) -> list[Full]:
        """Returns the batches that are full now, without the letter or with it."""
        size = copy_bytes(letter)
        full = []
        pending = self._pending.get(target)
        if pending is not None and pending.bytes + size > bytes_max:
            full.append((target, self._take(target)))
        self._pending.setdefault(target, Pending()).add(letter, size)
        self._bytes += size
        if len(self._pending[target].letters) >= LETTERS_MAX:
            full.append((target, self._take(target)))
        return full if self._bytes <= PENDING_BYTES_MAX else [*full, *self.rest()]

    def rest(self) -> list[Full]:
        return [(target, self._take(target)) for target in list(self._pending)]

    def _take(self, target: TopicPartition) -> list[Letter]:
        pending = self._pending.pop(target)
        self._bytes -= pending.bytes - HEADER.size
        return pending.letters
