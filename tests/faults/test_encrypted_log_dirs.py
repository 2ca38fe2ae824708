"""A broker whose log dirs are encrypted: nothing readable on the disk, wrong and new keys, damage, moves."""

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from tests.faults.broker_lines import Lines
from tests.faults.test_log_moves import TwoLogDirs
from tidelog.base.errors import StorageError
from tidelog.cli.exits import Exit
from tidelog.cli.main import run
from tidelog.server.encryption.key_file import add_key
from tidelog.testing import Broker

PLANTED = b"PLANTED"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 400


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    path = str(tmp_path / "log.keys")
    add_key(path, "first", b"1" * 32)
    return path


def settings(key_file: str, **more: object) -> dict[str, object]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {
        "log.dirs.encryption": "all",
        "log.dirs.encryption.key.file": key_file,
        "log.segment.bytes": 40_000,
        "log.cleaner.backoff.ms": 50,
        "log.segment.delete.delay.ms": 0,
        "log.retention.check.interval.ms": 100,
        **named,
    }


def values(codec: str) -> list[bytes]:
    return [PLANTED + b" %s %d " % (codec.encode(), number) * 20 for number in range(RECORDS)]


def write(broker: Broker, topic: str, codec: str = "none") -> None:
    config = {"bootstrap.servers": broker.bootstrap_servers, "compression.type": codec, "linger.ms": 2}
    producer = Producer(config)
    for number, value in enumerate(values(codec)):
        producer.produce(topic, value, PLANTED + b"-key-%d" % (number % 50), headers={"PLANTED-header": b"x"})
        if number % 40 == 0:
            producer.flush()
    assert producer.flush(30) == 0


def read(broker: Broker, topic: str, count: int = RECORDS) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "PLANTED-group", "check.crcs": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        for message in consumer.consume(500, 0.5):
            assert message.error() is None, message.error()
            found.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def files_below(path: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()
    }


def files_with(path: Path, text: bytes) -> list[str]:
    return [name for name, content in files_below(path).items() if text in content]


def until(what: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log dir with everything in it that a broker keeps, and beside it its key file."""
    root = tmp_path_factory.mktemp("encrypted")
    keys = str(root / "log.keys")
    add_key(keys, "first", b"1" * 32)
    with Broker(settings=settings(keys), data_dir=root / "data") as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        compacted = {
            "cleanup.policy": "compact",
            "min.cleanable.dirty.ratio": "0.01",
            "segment.bytes": "20000",
        }
        retained = {"retention.bytes": "1000", "segment.bytes": "20000"}
        topics = [NewTopic(codec, 1, 1) for codec in CODECS]
        topics += [NewTopic("compacted", 1, 1, config=compacted), NewTopic("retained", 1, 1, config=retained)]
        for future in admin.create_topics(topics).values():
            future.result(10)
        entry = ConfigEntry(
            "follower.replication.throttled.replicas",
            "0:4242424242",
            incremental_operation=AlterConfigOpType.SET,
        )
        resource = ConfigResource("topic", "none", incremental_configs=[entry])
        admin.incremental_alter_configs([resource])[resource].result(10)
        for codec in CODECS:
            write(broker, codec, codec)
            assert read(broker, codec) == values(codec)
        write(broker, "compacted")
        write(broker, "retained")
    return root


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    shutil.copytree(written, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(autouse=True)
def quiet(broker_log: Lines) -> Iterator[None]:
    yield
    assert not [line for line in broker_log.failures if "Traceback" in line]


def test_nothing_of_users_can_be_read_on_the_disk(written: Path) -> None:
    data = written / "data"
    assert len(files_below(data)) > 20
    assert files_with(data, PLANTED) == []
    assert files_with(data, b"4242424242") == []  # a setting of a topic, in the metadata log
    for suffix in (".log", ".index", ".timeindex", ".snapshot", "quorum-state", "leader-epoch-checkpoint"):
        named = [content for name, content in files_below(data).items() if name.endswith(suffix) and content]
        assert named, suffix
        assert all(content.startswith(b"\x89TE1") for content in named), suffix


def test_a_restart_serves_everything_and_so_do_the_tools_with_the_key(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys, data = str(copied / "log.keys"), copied / "data"
    with Broker(settings=settings(keys), data_dir=data) as broker:
        for codec in CODECS:
            assert read(broker, codec) == values(codec)
        newest = [value for value in read(broker, "compacted", 50) if int(value.split()[2]) >= RECORDS - 50]
        assert newest == values("none")[-50:]
        until(lambda: len(list((data / "retained-0").glob("*.log"))) < 4)
    assert run(["log", "check", str(data), "--key-file", keys]) == Exit.OK
    segment = sorted(str(path) for path in (data / "gzip-0").glob("*.log"))[0]
    assert run(["log", "dump", segment, "--records", "--key-file", keys]) == Exit.OK
    assert "PLANTED gzip 7" in capsys.readouterr().out
    for command in (["log", "dump", segment], ["log", "check", str(data)]):
        assert run(command) == Exit.USAGE
        assert "is encrypted, and no key was given" in capsys.readouterr().err


def test_a_wrong_or_missing_key_is_refused_and_nothing_changes(copied: Path, broker_log: Lines) -> None:
    data, other = copied / "data", str(copied / "other.keys")
    add_key(other, "first", b"?" * 32)
    before = files_below(data)
    for given in (settings(other), settings(str(copied / "none")), {}):
        with pytest.raises(StorageError, match="holds the cluster's metadata and cannot be used"):
            Broker(settings=given, data_dir=data).start()
        assert files_below(data) == before
    with Broker(settings=settings(str(copied / "log.keys")), data_dir=data) as broker:
        assert read(broker, "none") == values("none")


def test_rotation_needs_no_rewriting_and_the_old_key_may_go(copied: Path, broker_log: Lines) -> None:
    keys, data = copied / "log.keys", copied / "data"
    sealed = files_below(data / "gzip-0")
    add_key(str(keys), "second", b"2" * 32)
    with Broker(settings=settings(str(keys)), data_dir=data) as broker:
        assert read(broker, "gzip") == values("gzip")
        write(broker, "rotated")
    assert any("are wrapped by second now, no longer by first" in line for line in broker_log.text)
    logs = {name: content for name, content in files_below(data / "gzip-0").items() if name.endswith(".log")}
    assert logs.items() <= sealed.items()
    new = files_below(data / "rotated-0")["00000000000000000000.log"]
    assert new[4:12] != sealed["00000000000000000000.log"][4:12]  # another data key
    keys.write_text(keys.read_text().splitlines()[0] + "\n")  # without the first key
    with Broker(settings=settings(str(keys)), data_dir=data) as broker:
        assert read(broker, "gzip") == values("gzip")
        assert read(broker, "rotated") == values("none")


def test_a_damaged_byte_is_never_served(copied: Path, broker_log: Lines) -> None:
    """In the middle of a segment that recovery trusts: what is before it is served, then an error comes."""
    data = copied / "data"
    segment = data / "none-0" / "00000000000000000000.log"
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 4
    segment.write_bytes(content)
    with Broker(settings=settings(str(copied / "log.keys")), data_dir=data) as broker:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        consumer.assign([TopicPartition("none", 0, 0)])
        served: list[bytes] = []
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            served += [message.value() for message in consumer.consume(100, 0.2) if message.error() is None]
        consumer.close()
        assert served == values("none")[: len(served)]
        assert read(broker, "gzip") == values("gzip")


def test_turned_on_for_what_exists_and_off_again(tmp_path: Path, key_file: str) -> None:
    data = tmp_path / "data"
    with Broker(settings={"log.segment.bytes": 40_000}, data_dir=data) as broker:
        write(broker, "orders")
    assert files_with(data, PLANTED)
    with Broker(settings=settings(key_file), data_dir=data) as broker:
        write(broker, "orders")
        assert read(broker, "orders", 2 * RECORDS) == values("none") * 2
        active = sorted((data / "orders-0").glob("*.log"))[-1]
        assert active.read_bytes().startswith(b"\x89TE1")
    plain = files_with(data, PLANTED)
    assert plain  # sealed segments from before
    assert run(["log", "encrypt", str(data), "--key-file", key_file]) == Exit.OK
    assert files_with(data, PLANTED) == []
    with Broker(settings=settings(key_file), data_dir=data) as broker:
        assert read(broker, "orders", 2 * RECORDS) == values("none") * 2
    assert run(["log", "decrypt", str(data), "--key-file", key_file]) == Exit.OK
    with Broker(data_dir=data) as broker:
        assert read(broker, "orders", 2 * RECORDS) == values("none") * 2


def test_moves_between_a_plain_and_an_encrypted_log_dir(tmp_path: Path, key_file: str) -> None:
    dirs = TwoLogDirs(tmp_path)
    first, second = dirs.paths
    dirs.broker.settings |= {**settings(key_file), "log.dirs.encryption": str(second)}
    with dirs.broker as broker:
        dirs.create("orders")
        write(broker, "orders")
        for target in (second, first, second):
            dirs.move("orders", 0, target)
            until(lambda target=target: dirs.log_dirs("orders") == [(target.name, False)])
            assert read(broker, "orders") == values("none")
            until(lambda target=target: bool(files_with(first, PLANTED)) == (target == first))
            assert files_with(second, PLANTED) == []


def test_one_log_dir_without_its_key_leaves_the_others_in_service(
    tmp_path: Path, key_file: str, broker_log: Lines
) -> None:
    dirs = TwoLogDirs(tmp_path)
    first, second = dirs.paths
    dirs.broker.settings |= {**settings(key_file), "log.dirs.encryption": str(second)}
    with dirs.broker:
        for topic in ("a", "b"):
            dirs.create(topic)
        for topic, path in (("a", first), ("b", second)):
            dirs.move(topic, 0, path)
            until(lambda topic=topic, path=path: dirs.log_dirs(topic) == [(path.name, False)])
    before = files_below(second)
    other = str(tmp_path / "other.keys")
    add_key(other, "other", b"?" * 32)
    with Broker(settings={**dirs.broker.settings, "log.dirs.encryption.key.file": other}) as broker:
        write(broker, "a")
        assert read(broker, "a") == values("none")
    assert any("is offline" in line and "they need the key 'first'" in line for line in broker_log.text)
    assert files_below(second) == before
