"""Addresses, and a client library's errors in our words."""

import pytest
from confluent_kafka import KafkaError

from tidelog.cli.connection import as_cli_error, exit_for, parse_servers, start_command, unreachable
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.cli.topic.admin import topic_error


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("broker-1", [("broker-1", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("PLAINTEXT://a:1", [("a", 1)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_addresses(text: str, servers: list[tuple[str, int]]) -> None:
    assert parse_servers(text) == servers


@pytest.mark.parametrize("text", ["", ",", ":9092", "a:b", "a:0", "a:70000"])
def test_a_bad_address_is_a_usage_error(text: str) -> None:
    with pytest.raises(CliError) as caught:
        parse_servers(text)
    assert caught.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, Exit.NOT_FOUND),
        (KafkaError.TOPIC_ALREADY_EXISTS, Exit.EXISTS),
        (KafkaError._TRANSPORT, Exit.UNREACHABLE),
        (KafkaError._TIMED_OUT, Exit.TIMED_OUT),
        (KafkaError.INVALID_CONFIG, Exit.REFUSED),
        (KafkaError.INVALID_PARTITIONS, Exit.REFUSED),
        (KafkaError.TOPIC_EXCEPTION, Exit.REFUSED),
        (KafkaError.MSG_SIZE_TOO_LARGE, Exit.REFUSED),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Exit.DENIED),
        (KafkaError.UNKNOWN, Exit.FAILED),
    ],
)
def test_exit_codes_of_broker_errors(code: int, expected: Exit) -> None:
    assert exit_for(KafkaError(code)) is expected


def test_the_broker_s_own_words_are_kept() -> None:
    error = as_cli_error(KafkaError(KafkaError.INVALID_CONFIG, "retention.ms: no"), Session(), "Topic 'a'")
    assert error.message == "Topic 'a': retention.ms: no."


def test_a_missing_topic_leads_to_the_command_that_makes_it() -> None:
    error = topic_error(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), "orders", Session())
    assert error.code is Exit.NOT_FOUND
    assert "tidelog topic create orders" in (error.attempt or "")


@pytest.mark.parametrize(
    ("servers", "command"),
    [
        ("localhost:9092", "tidelog up"),
        ("127.0.0.1:9999", "tidelog up --port 9999"),
        ("broker-1.example.net:9092", "another address with -b HOST:PORT"),
    ],
)
def test_the_command_to_try_fits_the_address(servers: str, command: str) -> None:
    assert start_command(servers) == command


def test_an_unreachable_broker_is_explained() -> None:
    error = unreachable("localhost:9092", [ConnectionRefusedError()])
    assert error.lines() == [
        "Error: No broker answers at localhost:9092.",
        "Likely cause: nothing listens there; is the broker running, and on this port?",
        "Try: tidelog up",
    ]
    assert error.as_json()["exit_code"] == 5
