"""An encrypted file against the obvious, a bytearray: writes, truncations, power cuts and damage."""

import random

import pytest

from tests.rigs.encryption import encrypted
from tidelog.base.ports import File
from tidelog.storage.encryption.encrypted_disk import EncryptedDisk
from tidelog.storage.encryption.encrypted_file import DamagedBytes
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk, PowerCut

PATH = "/data/t-0/file"
SIZES = (1, 7, 61, 400, 5_000, 40_000, 70_000, 200_000)


def make(seed: int) -> tuple[MemoryDisk, EncryptedDisk, random.Random]:
    memory = MemoryDisk(seed)
    disk = encrypted(memory)
    disk.make_dirs("/data/t-0")
    for directory in ("/", "/data", "/data/t-0"):
        disk.sync_dir(directory)
    return memory, disk, random.Random(seed)


def step(rng: random.Random, file: File, model: bytearray) -> None:
    data = rng.randbytes(rng.choice(SIZES))
    action = rng.choices(
        ["append", "buffers", "overwrite", "hole", "truncate", "empty"], [8, 2, 1, 1, 3, 0.2]
    )[0]
    if action == "append":
        file.write_at(len(model), [data])
        model += data
    elif action == "buffers":
        file.write_at(len(model), [data, b"", data[:100]])
        model += data + data[:100]
    elif action == "overwrite":
        position = rng.randint(0, len(model))
        file.write_at(position, [data])
        model[position : position + len(data)] = data
    elif action == "hole":
        position = len(model) + rng.choice((1, 500, 70_000))
        file.write_at(position, [data])
        model += bytes(position - len(model)) + data
    else:
        length = rng.randint(0, len(model)) if action == "truncate" else 0
        file.truncate(length)
        del model[length:]


def check_reads(rng: random.Random, file: File, model: bytearray) -> None:
    assert file.size() == len(model)
    for _ in range(4):
        position = rng.randint(0, len(model) + 10)
        length = rng.choice((1, 61, 5_000, 300_000))
        assert file.read_at(position, length) == model[position : position + length]
    assert file.read_intact(0, len(model) + 1) == model


@pytest.mark.parametrize("seed", range(12))
def test_reads_what_was_written(seed: int) -> None:
    memory, disk, rng = make(seed)
    file, model = disk.open(PATH, create=True), bytearray()
    for _ in range(40):
        step(rng, file, model)
        if rng.random() < 0.3:
            file.close()
            file = disk.open(PATH)
            assert disk.size(PATH) == len(model)
        check_reads(rng, file, model)
    for start in range(0, len(model) - 32, 9_973):
        assert bytes(model[start : start + 32]) not in memory.open(PATH).read_at(0, 1 << 30)


@pytest.mark.parametrize("seed", range(60))
def test_a_power_cut_keeps_what_was_synced_and_a_prefix_of_the_rest(seed: int) -> None:
    memory, disk, rng = make(seed)
    file, model = disk.open(PATH, create=True), bytearray()
    disk.sync_dir("/data/t-0")
    synced = b""
    memory.power_cut_at = memory.operations + rng.randint(1, 60)
    try:
        while True:
            data = rng.randbytes(rng.choice(SIZES))
            model += data  # before it is written: what is under way may be there
            file.write_at(len(model) - len(data), [data])
            if rng.random() < 0.4:
                file.sync()
                synced = bytes(model)
    except PowerCut:
        memory.crash()
    file = disk.open(PATH)
    found = file.read_at(0, 1 << 30)
    assert found[: len(synced)] == synced
    for position, byte in enumerate(found):
        assert byte in (model[position], 0, 0xFF), position
    # Appended to, it goes on as any file does.
    rest = rng.randbytes(100_000)
    file.write_at(len(found), [rest])
    assert disk.open(PATH).read_at(0, 1 << 30) == found + rest


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_byte_is_never_read_as_something_else(seed: int) -> None:
    memory, disk, rng = make(seed)
    file, model = disk.open(PATH, create=True), bytearray()
    for _ in range(12):
        step(rng, file, model)
    data = rng.randbytes(3_000)
    file.write_at(len(model), [data])
    model += data
    raw_size = memory.size(PATH)
    for _ in range(rng.choice((1, 1, 3))):
        memory.flip_bit(PATH, rng.choice((rng.randrange(raw_size), rng.randrange(64))), rng.randrange(8))
    file = disk.open(PATH)
    found = file.read_at(0, 1 << 30)
    differing = [at for at, byte in enumerate(found) if byte != model[at]]
    assert {found[at] for at in differing} <= {0xFF}
    assert len(model) - len(found) <= 70_000
    if differing:
        with pytest.raises(DamagedBytes):
            file.read_intact(0, len(found))


def test_a_large_hole_that_a_crash_left_is_read_over() -> None:
    """More blocks than Python nests calls."""
    memory, disk, rng = make(1)
    file = disk.open(PATH, create=True)
    data = rng.randbytes(1200 * 65_536)
    file.write_at(0, [data])
    raw = memory.open(PATH)
    raw.write_at(100_000, [bytes(raw.size() - 200_000)])
    found = disk.open(PATH)
    assert found.size() == len(data)
    assert found.read_at(len(data) - 50_000, 50_000) == data[-50_000:]
    assert found.read_at(0, 50_000) == data[:50_000]
    assert set(found.read_at(500_000, 1_000)) <= {0, 0xFF}
