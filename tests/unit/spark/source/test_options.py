"""The options of the source: Spark's own names and rules, and what is said when they are broken."""

from pathlib import Path
from typing import Any

import pytest

from tidelog.blocking.cluster import TopicPartition
from tidelog.blocking.errors import SecurityError
from tidelog.spark.errors import OptionError
from tidelog.spark.source.options import SOURCE, SourceOptions, read_source_options
from tidelog.spark.source.positions import EARLIEST, LATEST

# Option by option as in the guide of Spark's Kafka source.
OF_SPARK = [
    "assign",
    "subscribe",
    "subscribePattern",
    "kafka.bootstrap.servers",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "endingOffsets",
    "failOnDataLoss",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "groupIdPrefix",
    "kafka.group.id",
    "includeHeaders",
    "startingOffsetsByTimestampStrategy",
]


def read(stream: bool = True, **options: Any) -> SourceOptions:
    given = {"kafka.bootstrap.servers": "a:1,b:2"}
    if not {"assign", "subscribePattern"} & set(options):
        given["subscribe"] = "t"
    # Spark hands names over in lower case.
    given |= {name.replace("__", ".").lower(): str(value) for name, value in options.items()}
    return read_source_options(given, is_stream=stream)


@pytest.mark.parametrize("name", OF_SPARK)
def test_every_option_of_sparks_source_is_known(name: str) -> None:
    from tidelog.spark.source.options import TABLE

    assert TABLE.options[name.lower()].name == name


def test_defaults_are_those_of_sparks_source() -> None:
    options = read()
    assert options.starting.everywhere == LATEST
    assert read(stream=False).starting.everywhere == EARLIEST
    assert read(stream=False).ending.everywhere == LATEST
    assert options.fail_on_data_loss
    assert not options.read_committed
    assert options.trigger_delay_max_ms == 15 * 60 * 1000
    assert (options.rows_max, options.rows_min, options.tasks_min, options.task_rows_max) == (None,) * 4
    assert options.poll_timeout_ms == 120_000
    assert (options.offset_retries, options.offset_retry_ms) == (3, 10)


def test_every_option_says_what_it_is_for() -> None:
    assert all(option.doc for option in SOURCE)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("startingOffset", "startingOffsets"),
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
        ("kafka.isolation.levl", "kafka.isolation.level"),
        ("subscribeTo", "subscribe"),
    ],
)
def test_a_misspelt_option_is_told_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(OptionError, match=rf"there is no option {wrong.lower()}; did you mean {right}\?"):
        read(**{wrong: "1"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kafka__auto__offset__reset": "latest"}, "use startingOffsets"),
        ({"kafka__value__deserializer": "X"}, "keys and values are bytes"),
        ({"path": "t"}, "name topics with subscribe"),
        ({"assign": '{"t":[0]}', "subscribe": "t"}, "subscribe and assign are given"),
        ({"assign": '["t"]'}, "assign must be JSON as"),
        ({"assign": "t"}, "option assign .* must be JSON"),
        ({"subscribePattern": "a("}, "no regular expression"),
        ({"subscribe": " , "}, "names no topic"),
        ({"maxOffsetsPerTrigger": "many"}, "must be a whole number"),
        ({"maxOffsetsPerTrigger": 0}, "must be at least 1"),
        ({"maxOffsetsPerTrigger": 5, "minOffsetsPerTrigger": 6}, "minOffsetsPerTrigger is 6"),
        ({"failOnDataLoss": "yes"}, "must be true or false"),
        ({"maxTriggerDelay": "3 weeks"}, "no such unit"),
        ({"kafka__isolation__level": "committed"}, "read_uncommitted or read_committed"),
        ({"startingOffsets": "first"}, "must be earliest, latest or JSON"),
        ({"startingOffsets": '{"t":{"0":-3}}'}, "below -2"),
        ({"startingOffsets": '{"t":{"0":"5"}}'}, "must be JSON as"),
        ({"startingOffsets": '{"t":5}'}, "must be JSON as"),
        ({"startingOffsetsByTimestamp": "{}"}, "must be JSON as"),
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"commitOffsets": "true"}, "kafka.group.id must be set"),
        ({"kafka__bootstrap__servers": "localhost"}, "not host:port"),
        ({"kafka__bootstrap__servers": ""}, "kafka.bootstrap.servers must be set"),
    ],
)
def test_wrong_options_are_refused_with_the_reason(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "latest"}, "cannot begin at the latest"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, "cannot begin at the latest"),
        ({"endingOffsets": "earliest"}, "cannot end at the earliest"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "cannot end at the earliest"),
        ({"maxOffsetsPerTrigger": 5}, "only a stream has micro-batches"),
    ],
)
def test_batches_have_rules_of_their_own(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read(stream=False, **options)


def test_no_topic_at_all_is_told() -> None:
    with pytest.raises(
        OptionError, match="exactly one of subscribe, subscribePattern, assign must be set; none"
    ):
        read_source_options({"kafka.bootstrap.servers": "a:1"}, is_stream=True)


def test_subscriptions() -> None:
    assert read(subscribe="b, a,b").subscription.topics == ("b", "a")
    assert read(assign='{"t":[1,0]}').subscription.partitions == (
        TopicPartition("t", 0),
        TopicPartition("t", 1),
    )
    assert read(subscribePattern="t.*").subscription.pattern == "t.*"


def test_a_time_for_all_goes_before_times_and_offsets() -> None:
    times = '{"t":{"0":7}}'
    assert read(startingTimestamp=5, startingOffsetsByTimestamp=times).starting.time_ms == 5
    both = read(startingOffsetsByTimestamp=times, startingOffsets="earliest").starting
    assert both.times_ms == {TopicPartition("t", 0): 7}
    assert both.everywhere is None
    assert not both.latest_if_too_late
    assert read(startingTimestamp=5, startingOffsetsByTimestampStrategy="latest").starting.latest_if_too_late


@pytest.mark.parametrize(
    ("text", "ms"), [("15m", 900_000), ("10s", 10_000), ("250ms", 250), ("70", 70), ("1h", 3_600_000)]
)
def test_durations(text: str, ms: int) -> None:
    assert read(maxTriggerDelay=text).trigger_delay_max_ms == ms


def test_settings_of_the_java_client_without_meaning_here_are_accepted() -> None:
    assert read(kafka__max__poll__records=100, kafka__session__timeout__ms=1000)


def test_security_comes_along() -> None:
    jaas = (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\\"b;c";'
    )
    options = read(
        kafka__security__protocol="SASL_SSL", kafka__sasl__mechanism="PLAIN", kafka__sasl__jaas__config=jaas
    )
    sasl = options.cluster.security.sasl
    assert sasl is not None
    assert (sasl.username, sasl.password) == ("me", 'a"b;c')
    assert options.cluster.security.tls is not None
    assert 'a"b;c' not in repr(options), "a secret must not reach a log"


def test_a_java_key_store_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    with pytest.raises(SecurityError, match=f"keytool -importkeystore -srckeystore {store}"):
        read(kafka__security__protocol="SSL", kafka__ssl__truststore__location=str(store))
