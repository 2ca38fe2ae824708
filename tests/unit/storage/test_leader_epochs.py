import pytest

from tidelog.base.errors import StorageError
from tidelog.storage import leader_epochs
from tidelog.storage.leader_epochs import LeaderEpochs
from tidelog.testing.sim.runtime.memory_disk import MemoryDisk


def epochs_of(*entries: tuple[int, int]) -> LeaderEpochs:
    epochs = LeaderEpochs()
    for epoch, start in entries:
        epochs.assign(epoch, start)
    return epochs


def test_the_end_of_an_epoch_is_the_start_of_the_next() -> None:
    epochs = epochs_of((2, 0), (4, 10), (7, 25))
    assert epochs.end_of(2, log_end=30) == (2, 10)
    assert epochs.end_of(4, log_end=30) == (4, 25)
    assert epochs.end_of(7, log_end=30) == (7, 30)


def test_an_epoch_that_wrote_nothing_is_answered_with_the_one_before() -> None:
    epochs = epochs_of((2, 0), (4, 10), (7, 25))
    assert epochs.end_of(5, log_end=30) == (4, 25)
    assert epochs.end_of(1, log_end=30) == (1, 0)


def test_an_epoch_of_the_future_and_an_empty_log_have_no_answer() -> None:
    assert epochs_of((2, 0)).end_of(3, log_end=30) == (-1, -1)
    assert LeaderEpochs().end_of(0, log_end=0) == (-1, -1)


def test_assigning_drops_what_contradicts_it() -> None:
    assert epochs_of((1, 0), (3, 10), (5, 20), (4, 15)).entries == [(1, 0), (3, 10), (4, 15)]
    assert epochs_of((1, 5), (2, 5)).entries == [(2, 5)]


def test_the_epoch_of_an_offset() -> None:
    epochs = epochs_of((2, 5), (4, 10))
    assert [epochs.epoch_of(offset) for offset in (4, 5, 9, 10)] == [-1, 2, 2, 4]


def test_truncating_the_end_and_the_start() -> None:
    epochs = epochs_of((1, 0), (3, 10), (5, 20))
    epochs.truncate_from_end(20)
    assert epochs.entries == [(1, 0), (3, 10)]
    epochs.truncate_from_start(12)
    assert epochs.entries == [(3, 12)]


def test_truncating_the_start_below_the_first_entry_changes_nothing() -> None:
    epochs = epochs_of((1, 5))
    epochs.changed = False
    epochs.truncate_from_start(3)
    epochs.truncate_from_start(5)
    assert epochs.entries == [(1, 5)]
    assert not epochs.changed


def test_the_file_is_kafkas() -> None:
    disk = MemoryDisk()
    epochs = epochs_of((1, 0), (3, 10))
    leader_epochs.write(disk, "/leader-epoch-checkpoint", epochs)
    raw = disk.open("/leader-epoch-checkpoint").read_at(0, 100)
    # Kafka splits the lines at white space, as we do here.
    assert [line.split() for line in raw.decode().splitlines()] == [["0"], ["2"], ["1", "0"], ["3", "10"]]
    assert LeaderEpochs.load(raw, "file").entries == epochs.entries
    assert not epochs.changed


@pytest.mark.parametrize(
    "raw", [b"", b"1\n0\n", b"0\n2\n1 0\n", b"0\n1\nx y\n", b"0\n2\n3 0\n1 5\n", b"0\n1\n1\n", b"\xff\xfe"]
)
def test_a_file_that_is_something_else_is_named(raw: bytes) -> None:
    with pytest.raises(StorageError, match="the-file"):
        LeaderEpochs.load(raw, "the-file")
