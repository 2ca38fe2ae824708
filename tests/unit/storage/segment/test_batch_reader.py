import pytest

from tidelog.base.errors import KafkaError
from tidelog.storage.segment.batch_reader import read_batches
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch


def segment(*value_sizes):
    file = MemoryDisk().open("/00.log", create=True)
    position = 0
    for offset, size in enumerate(value_sizes):
        batch = write_batch([Record(offset, 0, b"k", bytes(size))], base_offset=offset)
        position += file.write_at(position, [batch])
    return file, position


def read(file, stop, count):
    return [(header.base_offset, len(batch)) for header, batch in read_batches(file, stop, 0, count)]


@pytest.mark.parametrize(
    "sizes", [[], [1], [100] * 50, [3_000_000], [10, 2_000_000, 10, 1_048_576, 1_048_500, 5], [700_000] * 5]
)
def test_batches_of_all_sizes_come_whole(sizes):
    file, stop = segment(*sizes)
    found = read(file, stop, len(sizes))
    assert [offset for offset, _ in found] == list(range(len(sizes)))
    assert sum(size for _, size in found) == stop


@pytest.mark.parametrize("sizes", [[5], [5, 5], [2_000_000], [5, 2_000_000]])
@pytest.mark.parametrize("lost", [1, 30, 70])
def test_a_file_that_is_too_short_is_refused(sizes, lost):
    file, stop = segment(*sizes)
    with pytest.raises(KafkaError, match="could be read"):
        read(file, stop - lost, len(sizes))  # the segment ends within a batch
    file.truncate(stop - lost)
    with pytest.raises(KafkaError, match="could be read"):
        read(file, stop, len(sizes))  # the file is shorter than the segment


def test_offsets_must_ascend_within_the_segment():
    file, stop = segment(1, 1)
    for base, end in ((1, 2), (0, 1)):
        with pytest.raises(KafkaError, match="offset"):
            list(read_batches(file, stop, base, end))


def test_zeros_are_no_batch():
    file, stop = segment(1)
    file.write_at(stop, [bytes(100)])
    with pytest.raises(KafkaError, match="magic 0"):
        read(file, stop + 100, 9)
