"""librdkafka's errors become ours, with code, cause and advice; the tree is one tree."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from tidelog.base.errors import ErrorCode, TidelogError
from tidelog.clients import errors
from tidelog.clients.error_table import CLASSES, as_client_error, translated
from tidelog.clients.errors import ClientError

KNOWN_NAMES = {name for name in dir(KafkaError) if name.lstrip("_").isupper()}


def every_class(root: type[ClientError] = ClientError) -> list[type[ClientError]]:
    return [root, *(each for child in root.__subclasses__() for each in every_class(child))]


def test_the_table_names_errors_that_librdkafka_has() -> None:
    assert set(CLASSES) <= KNOWN_NAMES


@pytest.mark.parametrize("kind", every_class(), ids=lambda kind: kind.__name__)
def test_every_error_explains_itself(kind: type[ClientError]) -> None:
    assert issubclass(kind, TidelogError)
    assert kind.__doc__
    assert kind.__doc__.strip().endswith(".")
    for text in (kind.cause, kind.attempt):
        assert text
        assert text[0].islower()


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_each_entry_is_made(name: str) -> None:
    error = as_client_error(KafkaError(getattr(KafkaError, name), "said"), "Doing it")
    assert type(error) is CLASSES[name]
    assert error.reason == name
    assert str(error).startswith(f"Doing it failed: said ({name}). Likely cause: ")
    assert " What to do: " in str(error)


def test_codes_of_the_protocol_are_kept() -> None:
    refused = as_client_error(KafkaError(KafkaError.NOT_ENOUGH_REPLICAS), "Sending", producing=True)
    assert refused.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert refused.retriable
    local = as_client_error(KafkaError(KafkaError._TRANSPORT), "Sending")
    assert local.code is None
    assert local.retriable


def test_what_is_not_in_the_table() -> None:
    assert type(as_client_error(KafkaError(KafkaError._FS), "Doing it")) is ClientError
    assert type(as_client_error(KafkaError(KafkaError._FS), "Sending", producing=True)) is errors.ProduceError


def test_a_timeout_while_producing_is_a_delivery_that_timed_out() -> None:
    error = KafkaError(KafkaError._TIMED_OUT)
    assert type(as_client_error(error, "Asking")) is errors.RequestTimedOut
    assert type(as_client_error(error, "Sending", producing=True)) is errors.DeliveryTimedOut


def test_only_who_uses_a_topic_is_told_to_create_it() -> None:
    missing = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    for using in (
        as_client_error(missing, "It", producing=True),
        as_client_error(missing, "It", reading=True),
    ):
        assert "Admin.create_topic" in using.what_to_do
    assert "create" not in as_client_error(missing, "Deleting topic 'a'").what_to_do
    assert "topic list" in as_client_error(missing, "Deleting topic 'a'").what_to_do


def test_a_partition_that_is_not_there_is_no_missing_topic() -> None:
    error = as_client_error(KafkaError(KafkaError._UNKNOWN_PARTITION), "Sending", producing=True)
    assert "fewer partitions" in error.likely_cause
    assert "create" not in error.what_to_do
    assert "tidelog topic describe" in error.what_to_do


def test_fatal_errors_say_so() -> None:
    assert as_client_error(KafkaError(KafkaError._FENCED, "x", fatal=True), "It").fatal


def test_the_error_behind_a_fatal_one_is_found() -> None:
    said = "Fatal error: Broker: Static consumer fenced by other consumer with same group.instance.id: Fatal"
    error = as_client_error(KafkaError(KafkaError._FATAL, said), "Reading")
    assert type(error) is errors.MemberFenced
    assert error.code is ErrorCode.FENCED_INSTANCE_ID
    assert error.fatal
    assert type(as_client_error(KafkaError(KafkaError._FATAL, "who knows"), "Reading")) is ClientError


def test_translated_keeps_the_original() -> None:
    with pytest.raises(errors.UnknownTopic) as caught, translated("Reading"):
        raise KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    assert isinstance(caught.value.__cause__, KafkaException)
    with pytest.raises(KeyError), translated("Reading"):
        raise KeyError
