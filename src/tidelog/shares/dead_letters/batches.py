"""Batches of dead letters: as many as the dead-letter topic takes at once, one sequence number each.

A batch that is written again after a change of the leader must have as many dead letters as before, since
their sequence numbers tell the dead-letter topic that it has them. What is in them may differ: the record may
be gone by now, or the topic may take less.
"""

from collections.abc import Sequence

from tidelog.base.ids import ProducerId
from tidelog.shares.dead_letters.letters import without_record
from tidelog.wire.batch import HEADER
from tidelog.wire.compression import Codec
from tidelog.wire.record import write_batch
from tidelog.wire.record_body import Record, encode_records


def letter_bytes(letter: Record, base: Record) -> int:
    """Returns the size of a dead letter in a batch that begins with `base`, uncompressed."""
    return len(encode_records([letter], base.offset, base.timestamp))


def count_that_fits(letters: Sequence[Record], bytes_max: int) -> int:
    """Returns the number of dead letters, from the first on, for one batch. The first always counts."""
    size = HEADER.size
    for count, letter in enumerate(letters):
        size += letter_bytes(letter, letters[0])
        if count and size > bytes_max:
            return count
    return len(letters)


def build_batch(
    letters: Sequence[Record],
    bytes_max: int,
    *,
    producer_id: ProducerId,
    producer_epoch: int,
    first_sequence: int,
) -> bytearray:
    """Returns the batch. What makes it too large is compressed, and if that is not enough, left out."""

    def batch_of(those: Sequence[Record], codec: Codec) -> bytearray:
        return write_batch(
            those,
            codec=codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=first_sequence,
        )

    batch = batch_of(letters, Codec.NONE)
    if len(batch) > bytes_max:
        batch = batch_of(letters, Codec.ZSTD)
    if len(batch) > bytes_max:
        fitting = _fitting(letters, bytes_max)
        batch = batch_of(fitting, Codec.NONE)
        if len(batch) > bytes_max:
            batch = batch_of(fitting, Codec.ZSTD)
    return batch


def _fitting(letters: Sequence[Record], bytes_max: int) -> list[Record]:
    """The largest records are left out until the others fit."""
    fitting = list(letters)
    sizes = [letter_bytes(letter, letters[0]) for letter in letters]
    total = HEADER.size + sum(sizes)
    for number in sorted(range(len(fitting)), key=lambda number: -sizes[number]):
        if total <= bytes_max:
            break
        fitting[number] = without_record(fitting[number])
        total += letter_bytes(fitting[number], letters[0]) - sizes[number]
    return fitting
