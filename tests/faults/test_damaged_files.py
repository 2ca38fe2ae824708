"""Files that a broker finds changed when it starts: bits flipped, ends cut off, whole files gone or foreign.

Every batch that was not touched itself must still be served, at its offset; what was touched is either
told as an error or cut off, and a file that is not understood stops the start with a sentence.
"""

import shutil
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.broker_lines import Lines
from tests.faults.log_calls import BY_NAME, create_topic, fetch_request, offset_at, produce, read_all
from tests.faults.raw_client import RawClient
from tidelog.base.errors import ErrorCode, StorageError
from tidelog.base.ids import uuid_text
from tidelog.testing import Broker
from tidelog.wire.apis import ApiKey
from tidelog.wire.batch import iter_batches
from tidelog.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.wire.record import Record, read_records, write_batch

pytestmark = pytest.mark.usefixtures("no_failures")

BATCHES = 60
RECORDS_EACH = 3
VALUE_BYTES = 400
PRODUCER = 4711
FIRST = "00000000000000000000"
FIRST_TIME = int(time.time() * 1000) - 3_600_000  # not long ago: producers of old records are forgotten
MARKER = ".kafka_cleanshutdown"


def value_of(number: int) -> bytes:
    return b"%06d" % number * (VALUE_BYTES // 6)


def time_of(number: int) -> int:
    return FIRST_TIME + 1000 * number


def numbered(first: int) -> bytearray:
    return write_batch(
        [Record(n, time_of(first + n), b"k", value_of(first + n)) for n in range(RECORDS_EACH)],
        producer_id=PRODUCER,
        producer_epoch=0,
        base_sequence=first,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log dir of a broker that wrote batches of three records into segments of 16 KiB, and stopped."""
    log_dir = tmp_path_factory.mktemp("written")
    with Broker(data_dir=log_dir) as broker, RawClient(broker.port) as client:
        create_topic(client, "t", segment_bytes="16384", index_interval_bytes="2000")
        for number in range(BATCHES):
            answer = produce(client, "t", numbered(number * RECORDS_EACH))
            assert answer.base_offset == number * RECORDS_EACH
    return log_dir


KINDS = ["clean", "unclean", "unclean and nothing known"]


@pytest.fixture(params=KINDS)
def log_dir(request: pytest.FixtureRequest, written: Path, tmp_path: Path) -> Path:
    """A copy of it, stopped in order, or as a killed broker leaves it, with or without a checkpoint."""
    copy = tmp_path / "data"
    shutil.copytree(written, copy)
    if request.param != "clean":
        (copy / MARKER).unlink()
    if request.param == "unclean and nothing known":
        (copy / "recovery-point-offset-checkpoint").unlink()
    return copy


def kind_of(log_dir: Path) -> str:
    """Before a broker starts on it."""
    if (log_dir / MARKER).exists():
        return KINDS[0]
    return KINDS[1] if (log_dir / "recovery-point-offset-checkpoint").exists() else KINDS[2]


def segments(log_dir: Path, suffix: str = ".log") -> list[Path]:
    return sorted((log_dir / "t-0").glob(f"*{suffix}"))


def flip(path: Path, at: int, bit: int = 3) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def cut(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])


def positions(path: Path) -> list[tuple[int, int]]:
    """(position, base offset) of every batch in a segment."""
    return [(position, header.base_offset) for position, header in iter_batches(path.read_bytes())]


def batch_at(client: RawClient, offset: int) -> list[tuple[int, bytes | None]] | ErrorCode:
    """The records of the first batch that a fetch at `offset` gives."""
    answer = client.ask(ApiKey.FETCH, fetch_request("t", offset, max_bytes=1), BY_NAME)
    [[found]] = [topic.partitions for topic in answer.responses]
    if found.error_code:
        return ErrorCode(found.error_code)
    return [(record.offset, record.value) for record in read_records(found.records)]


def the_rest_is_served(client: RawClient, damaged: set[int], end: int, *, lenient: bool = False) -> None:
    """Each undamaged batch below `end`. Lenient: one behind the damage may give an error instead."""
    assert offset_at(client, "t") == end
    for first in range(0, end, RECORDS_EACH):
        if first in damaged:
            continue
        found = batch_at(client, first)
        if lenient and isinstance(found, ErrorCode) and first > min(damaged):
            continue
        assert found == [(first + n, value_of(first + n)) for n in range(RECORDS_EACH)], first


def goes_on(client: RawClient, end: int) -> None:
    """New records follow where the log ends, and the producer's sequence numbers are remembered."""
    last = end - RECORDS_EACH
    assert produce(client, "t", numbered(last)).base_offset == last, "a retry of the last batch"
    assert produce(client, "t", numbered(end)).base_offset == end
    gap = produce(client, "t", numbered(end + 30))
    assert ErrorCode(gap.error_code) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert batch_at(client, end) == [(end + n, value_of(end + n)) for n in range(RECORDS_EACH)]


@pytest.fixture
def opened(log_dir: Path) -> Iterator[Callable[[], RawClient]]:
    """Start a broker on the damaged log dir."""
    running: list[Broker] = []

    def start() -> RawClient:
        running.append(Broker(data_dir=log_dir))
        running[-1].start()
        return RawClient(running[-1].port)

    yield start
    for broker in running:
        broker.stop()


ALL = BATCHES * RECORDS_EACH


# Field of a batch header, or of its body, at its place in the batch
PLACES = {"offset": 3, "length": 10, "magic": 16, "crc": 18, "attributes": 22, "count": 60, "body": 90}


@pytest.mark.parametrize("place", PLACES)
def test_a_flipped_bit_in_an_old_segment(log_dir: Path, opened: Callable[[], RawClient], place: str) -> None:
    path = segments(log_dir)[1]
    position, first = positions(path)[4]
    flip(path, position + PLACES[place])
    with opened() as client:
        the_rest_is_served(client, {first}, ALL, lenient=True)
        goes_on(client, ALL)


@pytest.mark.parametrize("place", PLACES)
def test_a_flipped_bit_in_the_last_batch(
    log_dir: Path, opened: Callable[[], RawClient], place: str, broker_log: Lines
) -> None:
    """It was synced: it is kept aside, with a word, and its offsets stay empty. A torn write is cut off."""
    path, kind = segments(log_dir)[-1], kind_of(log_dir)
    position, first = positions(path)[-1]
    flip(path, position + PLACES[place])
    with opened() as client:
        end = offset_at(client, "t")
        assert end == (first if kind == KINDS[2] else ALL)
        the_rest_is_served(client, {first}, end)
        assert any(path.name in line for line in broker_log.text)
        if end == first:
            goes_on(client, first)
        else:
            assert list((log_dir / "t-0").glob("*.damaged-*"))
            assert any("LOST: " in line for line in broker_log.text)
            assert produce(client, "t", numbered(ALL)).base_offset == ALL


@pytest.mark.parametrize("keep", [0, 1, 12, 61, 200, -1])
def test_the_last_segment_cut_short(
    log_dir: Path, opened: Callable[[], RawClient], keep: int, broker_log: Lines
) -> None:
    """Whole batches stay; of the torn one nothing does. Its offsets stay empty if it was synced."""
    path, kind = segments(log_dir)[-1], kind_of(log_dir)
    *_, (position, first) = positions(path)
    cut(path, position + keep if keep >= 0 else path.stat().st_size + keep)
    with opened() as client:
        # After a crash, a log without torn bytes may have been cut by its broker.
        end = first if kind == KINDS[2] or (kind == KINDS[1] and keep == 0) else ALL
        the_rest_is_served(client, {first}, end)
        if end == first:
            goes_on(client, first)
        else:
            assert any("LOST: " in line for line in broker_log.text)
            assert produce(client, "t", numbered(ALL)).base_offset == ALL
    if keep not in (0, 1):  # one byte of an offset is a zero, as space that was reserved
        assert any(path.name in line for line in broker_log.text)


def test_the_last_segment_emptied(log_dir: Path, opened: Callable[[], RawClient]) -> None:
    path, kind = segments(log_dir)[-1], kind_of(log_dir)
    first = int(path.stem)
    cut(path, 0)
    with opened() as client:
        end = ALL if kind == KINDS[0] else first
        the_rest_is_served(client, set(range(first, ALL)), end)
        if end == first:
            goes_on(client, first)
        else:
            assert produce(client, "t", numbered(ALL)).base_offset == ALL


@pytest.mark.parametrize("garbage", [b"?", bytes(61), bytes(100_000), b"\xff" * 300])
def test_bytes_behind_the_last_batch(log_dir: Path, opened: Callable[[], RawClient], garbage: bytes) -> None:
    path = segments(log_dir)[-1]
    path.write_bytes(path.read_bytes() + garbage)
    with opened() as client:
        the_rest_is_served(client, set(), ALL)
        goes_on(client, ALL)


def test_an_old_segment_cut_short(log_dir: Path, opened: Callable[[], RawClient]) -> None:
    path = segments(log_dir)[1]
    position, first = positions(path)[-2]
    gone = {first, positions(path)[-1][1]}
    cut(path, position + 20)
    with opened() as client:
        the_rest_is_served(client, gone, ALL, lenient=True)
        after = int(segments(log_dir)[2].stem)
        assert batch_at(client, after) == [(after + n, value_of(after + n)) for n in range(RECORDS_EACH)]
        goes_on(client, ALL)


INDEX_DAMAGE: dict[str, Callable[[Path], None]] = {
    "gone": lambda path: path.unlink(),
    "emptied": lambda path: cut(path, 0),
    "cut within an entry": lambda path: cut(path, path.stat().st_size - 3),
    "cut": lambda path: cut(path, path.stat().st_size // 24 * 12),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "ones": lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
    "a flipped bit": lambda path: flip(path, path.stat().st_size // 2, 0),
    "a flipped high bit": lambda path: flip(path, max(0, path.stat().st_size - 8), 7),
    "first byte": lambda path: flip(path, 0, 5),
    "the first bit": lambda path: flip(path, 0, 7),
    "longer": lambda path: path.write_bytes(path.read_bytes() + struct.pack(">qi", 2**62, 2**30)),
}


@pytest.mark.parametrize("damage", INDEX_DAMAGE)
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("which", [1, -1])
@pytest.mark.parametrize("log_dir", KINDS[:2], indirect=True)
def test_a_damaged_index(
    log_dir: Path, opened: Callable[[], RawClient], damage: str, suffix: str, which: int
) -> None:
    """Indexes can be made anew from the batches: nobody notices."""
    path = segments(log_dir, suffix)[which]
    if path.stat().st_size:
        INDEX_DAMAGE[damage](path)
    with opened() as client:
        the_rest_is_served(client, set(), ALL)
        for offset in (0, 1, 17, 40, 59, 100, 133, ALL - 1):
            assert offset_at(client, "t", time_of(offset)) == offset
            assert offset_at(client, "t", time_of(offset) - 999) == offset
        assert offset_at(client, "t", 1) == 0
        assert offset_at(client, "t", time_of(ALL)) == -1
        assert offset_at(client, "t", -3) == ALL - 1
        goes_on(client, ALL)


NOTES = [
    ".snapshot",
    "leader-epoch-checkpoint",
    "partition.metadata",
    "recovery-point",
    "log-start",
    "cleaner",
]


@pytest.mark.parametrize("damage", ["gone", "emptied", "cut within an entry", "first byte", "ones", "zeros"])
@pytest.mark.parametrize("name", NOTES)
@pytest.mark.parametrize("log_dir", KINDS[:2], indirect=True)
def test_a_damaged_note(log_dir: Path, opened: Callable[[], RawClient], damage: str, name: str) -> None:
    """Snapshots and checkpoints only save work; without them it is done again."""
    paths = [path for path in log_dir.rglob("*") if name in path.name and "metadata-0" not in str(path)]
    for path in paths:
        INDEX_DAMAGE[damage](path)
    with opened() as client:
        the_rest_is_served(client, set(), ALL)
        goes_on(client, ALL)


def test_a_partition_dir_that_names_another_topic_is_kept(
    log_dir: Path, opened: Callable[[], RawClient], broker_log: Lines
) -> None:
    """It may be that of an older topic of the same name, so it is not served; but it is not lost."""
    another = uuid_text(bytes(range(16)))
    (log_dir / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {another}")
    with opened() as client:
        assert offset_at(client, "t") == 0
    assert any("renaming it to" in line for line in broker_log.text)
    assert len(list((log_dir / "t-0-stray").glob("*.log"))) > 3


def test_a_new_topic_does_not_take_over_a_partition_dir_that_does_not_say_whose_it_is(
    log_dir: Path, opened: Callable[[], RawClient]
) -> None:
    shutil.copytree(log_dir / "t-0", log_dir / "u-0")
    (log_dir / "u-0" / "partition.metadata").unlink()
    with opened() as client:
        create_topic(client, "u")
        assert offset_at(client, "u") == 0
    assert len(list((log_dir / "u-0-stray").glob("*.log"))) > 3


def test_records_that_were_deleted_stay_so(tmp_path: Path, written: Path) -> None:
    log_dir = tmp_path / "data"
    shutil.copytree(written, log_dir)
    with Broker(data_dir=log_dir) as broker, RawClient(broker.port) as client:
        asked = DeleteRecordsPartition(partition_index=0, offset=50)
        topic = DeleteRecordsTopic(name="t", partitions=[asked])
        client.ask(ApiKey.DELETE_RECORDS, DeleteRecordsRequest(topics=[topic]))
        shutil.copytree(log_dir, tmp_path / "killed", ignore=shutil.ignore_patterns(".lock"))
    with Broker(data_dir=tmp_path / "killed") as broker, RawClient(broker.port) as client:
        assert (offset_at(client, "t", -2), offset_at(client, "t")) == (50, ALL)
        assert len(read_all(client, "t")) == ALL - 50


# Log dirs that must not be used


def refusal(log_dir: Path, **settings: str) -> str:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    with pytest.raises(StorageError) as caught:
        Broker(data_dir=log_dir, settings=named).start()
    return str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"version=1\n", b"node.id=many\n", b"x" * 5000])
def test_meta_properties_that_say_nothing(written: Path, tmp_path: Path, content: bytes) -> None:
    log_dir = tmp_path / "data"
    shutil.copytree(written, log_dir)
    (log_dir / "meta.properties").write_bytes(content)
    assert "meta.properties" in refusal(log_dir)


def test_meta_properties_that_name_another_disk(written: Path, tmp_path: Path) -> None:
    """Without a checksum, as earlier versions wrote it. The only voter would wait for ever for its vote."""
    log_dir = tmp_path / "data"
    shutil.copytree(written, log_dir)
    path = log_dir / "meta.properties"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    [mine] = [line for line in lines if line.startswith("directory.id=")]
    path.write_text("\n".join(lines).replace(mine, f"directory.id={uuid_text(bytes(range(16)))}") + "\n")
    said = refusal(log_dir)
    assert str(path) in said
    assert mine in said


def test_the_log_dir_of_another_broker(written: Path) -> None:
    said = refusal(written, node_id="7")
    assert str(written) in said
    assert "belongs to broker" in said


def test_the_log_dir_of_another_cluster(written: Path) -> None:
    assert "cluster" in refusal(written, cluster_id="AAAAAAAAAAAAAAAAAAAAAA")


def test_a_log_dir_that_is_in_use(tmp_path: Path) -> None:
    with Broker(data_dir=tmp_path):
        assert "in use by another broker" in refusal(tmp_path)


def test_metadata_that_is_damaged_stops_the_start(written: Path, tmp_path: Path) -> None:
    """It must not be guessed at: topics would vanish."""
    log_dir = tmp_path / "data"
    shutil.copytree(written, log_dir)
    path = log_dir / "__cluster_metadata-0" / f"{FIRST}.log"
    flip(path, 80)
    assert str(path) in refusal(log_dir)
