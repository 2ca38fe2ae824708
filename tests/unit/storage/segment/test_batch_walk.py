import pytest

from tidelog.base.errors import KafkaError
from tidelog.base.ports import File
from tidelog.storage.segment.batch_walk import header_at, walk
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk
from tidelog.wire.record import Record, write_batch


def file_of(*batches: bytes) -> File:
    disk = MemoryDisk()
    disk.make_dirs("/log")
    file = disk.open("/log/0.log", create=True)
    file.write_at(0, [b"".join(batches)])
    return file


def batch(base: int, value_bytes: int = 10) -> bytes:
    return bytes(write_batch([Record(base, 5, None, bytes(value_bytes), [])], base_offset=base))


def test_one_header_is_what_the_walk_finds_there() -> None:
    batches = [batch(0), batch(1, 70_000), batch(2)]
    file = file_of(*batches)
    stop = sum(map(len, batches))
    walked = list(walk(file, 0, stop))
    assert [header.base_offset for _, header in walked] == [0, 1, 2]
    assert [(at, header_at(file, at, stop)) for at, _ in walked] == walked


@pytest.mark.parametrize(("position", "cut"), [(1, 0), (0, 1), (0, 40), (60, 0)])
def test_both_refuse_what_is_no_batch_within_the_segment(position: int, cut: int) -> None:
    whole = batch(0, 0)
    file = file_of(whole[: len(whole) - cut])
    refusals = []
    for look in (header_at, lambda *where: next(walk(*where))):
        with pytest.raises(KafkaError) as caught:
            look(file, position, len(whole) - cut)
        refusals.append(caught.value.code)
    assert refusals[0] == refusals[1]
