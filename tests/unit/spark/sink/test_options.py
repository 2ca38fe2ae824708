"""The sink's options: those of Spark's own Kafka sink, and what is said of wrong ones."""

import pickle
from pathlib import Path

import pytest

from tidelog.spark.errors import OptionError
from tidelog.spark.sink.nameless import is_nameless, new_name
from tidelog.spark.sink.options import SINK, read_sink_options
from tidelog.wire.compression import Codec

BASE = {"kafka.bootstrap.servers": "localhost:9092"}


def test_defaults() -> None:
    options = read_sink_options(BASE)
    assert (options.topic, options.is_exact, options.write_name) == (None, False, None)
    assert options.packing.codec is Codec.NONE
    assert options.delivery.total_s == 120
    assert options.two_phase_commit.timeout_ms == 900_000
    assert pickle.loads(pickle.dumps(options)) == options, "it goes to executors"


def test_what_was_given() -> None:
    given = {
        "topic": "out",
        "delivery": "exactly-once",
        "txnappid": "nightly",  # as Spark hands names over
        "txnversion": "12",
        "kafka.compression.type": "zstd",
        "kafka.transaction.timeout.ms": "60000",
        "kafka.acks": "1",
        "checkpointLocation": "/tmp/c",
    }
    options = read_sink_options(BASE | given)
    assert (options.topic, options.is_exact, options.write_name) == ("out", True, ("nightly/out", 12))
    assert options.packing.codec is Codec.ZSTD
    assert options.two_phase_commit.timeout_ms == 60_000


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"topics": "out"}, "there is no option topics; did you mean topic?"),
        ({"delivery": "exactly_once"}, "must be at-least-once or exactly-once"),
        ({"delivery": "exactly-once", "txnAppId": "a"}, "must be set together"),
        ({"txnAppId": "a", "txnVersion": "1"}, "needs the option delivery to be exactly-once"),
        ({"kafka.transactional.id": "mine"}, "set transactionalIdPrefix"),
        ({"kafka.value.serializer": "x"}, "cannot be set"),
        ({"kafka.compression.type": "brotli"}, "must be none or gzip"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers must be set"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], told: str) -> None:
    with pytest.raises(OptionError, match=told.replace("?", r"\?")):
        read_sink_options(BASE | given)


def test_every_option_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "spark-sink.md").read_text()
    assert [option.name for option in SINK if f"`{option.name}`" not in page] == []


def test_one_name_for_writes_to_two_topics_is_two_names() -> None:
    """The second would be taken for a repetition of the first, and its rows would be left out."""
    given = BASE | {"delivery": "exactly-once", "txnAppId": new_name(), "txnVersion": "1"}
    names = {read_sink_options(given | topic).write_name for topic in ({"topic": "a"}, {"topic": "b"}, {})}
    assert len(names) == 3
    assert not any(is_nameless(name) for name, _ in filter(None, names))
