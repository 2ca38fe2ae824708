"""Errors of a queue say what happened, why, and what to do."""

from datetime import timedelta
from typing import Any

import pytest

from tidelog import (
    AuthorizationFailed,
    ClientError,
    ConfigurationError,
    ConnectionFailed,
    GroupError,
    Queue,
    QueueConfig,
    UnknownTopic,
    UnsupportedByBroker,
    UsageError,
)
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.blocking.errors import NoBroker
from tidelog.clients.queue.failures import as_client_error
from tidelog.clients.queue.idle import IdleTime
from tidelog.clients.queue.opening import config_of
from tidelog.clients.queue.sending import with_schedule

SETTINGS = QueueConfig(bootstrap_servers="127.0.0.1:1", request_timeout_ms=1000).for_members()


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (ErrorCode.UNSUPPORTED_VERSION, UnsupportedByBroker, "share.version"),
        (ErrorCode.GROUP_ID_NOT_FOUND, GroupError, "another group_id"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, AuthorizationFailed, "--operation read --group workers"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, AuthorizationFailed, "--operation read --topic jobs"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopic, "tidelog topic create jobs"),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, UnknownTopic, "letters, digits"),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, GroupError, "The group is full"),
    ],
)
def test_a_refusal_names_the_remedy(code: ErrorCode, kind: type[ClientError], words: str) -> None:
    error = as_client_error(KafkaError(code), "jobs", "workers", SETTINGS)
    assert type(error) is kind
    assert words in str(error)
    assert error.code is code


@pytest.mark.parametrize("workers", [0, -1])
def test_a_queue_without_workers_is_refused(workers: int) -> None:
    with pytest.raises(UsageError, match="at least one"):
        Queue("jobs", "127.0.0.1:1").work(print, workers=workers)


def test_brokers_that_are_away_are_named() -> None:
    error = as_client_error(NoBroker([]), "jobs", "workers", SETTINGS)
    assert isinstance(error, ConnectionFailed)
    assert "127.0.0.1:1" in str(error)


def test_brokers_are_given_in_any_form() -> None:
    for given in ("a:1,b:2", ["a:1", "b:2"], {"bootstrap.servers": "a:1,b:2"}):
        config = config_of(given, {"prefetch": 3})
        assert (config.bootstrap_servers, config.prefetch) == (("a:1", "b:2"), 3)
    assert config_of(QueueConfig(bootstrap_servers="a:1", group_id="g"), {"prefetch": 3}).group_id == "g"


@pytest.mark.parametrize(
    "settings",
    [
        {"prefetch": 0},
        {"auto_extend_ms": -1},
        {"auto_offset_reset": "error"},
        {"group_id": ""},
        {"no_such": 1},
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        config_of("a:1", settings)


def test_security_of_a_java_client_is_understood_and_kerberos_refused() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    extra = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    security = QueueConfig(bootstrap_servers="a:1", extra=extra).for_members().security
    assert security is not None
    assert security.sasl is not None
    assert security.sasl.username == "a"
    with pytest.raises(ConfigurationError, match="GSSAPI"):
        QueueConfig(bootstrap_servers="a:1", extra={"security.protocol": "SASL_PLAINTEXT"}).for_members()


def test_a_schedule_is_a_header_in_milliseconds() -> None:
    assert with_schedule({"a": "b"}, None, None) == {"a": "b"}
    assert with_schedule({"a": "b"}, 1.5, None) == [("a", "b"), ("tidelog-delay", "1500")]
    assert with_schedule(None, None, 1_700_000_000_000) == [("tidelog-deliver-at", "1700000000000")]


@pytest.mark.parametrize(
    ("delay", "at"),
    [
        (-1, None),
        (timedelta(days=367), None),
        (float("nan"), None),
        (float("inf"), None),
        ("soon", None),
        (None, 7_000_000_000_000),
        (None, 1_700_000_000_000_000),
        (None, -1),
        (None, "soon"),
    ],
)
def test_a_time_that_brokers_would_not_heed_is_refused(delay: Any, at: Any) -> None:
    with pytest.raises(UsageError, match="delay=" if at is None else "at="):
        with_schedule(None, delay, at)


def test_the_time_in_which_no_job_came_is_that_of_all_workers() -> None:
    """(A worker that had waited in vain began anew, and the end came up to twice as late.)"""
    idle = IdleTime(5.0, now=100.0)
    assert idle.left(101.0) == 4.0
    idle.busy(102.0)  # another worker gets a job
    assert idle.left(105.0) == 2.0, "and not the whole time again"
    assert idle.left(107.5) == 0
    idle.busy(110.0)  # it is through with it
    assert idle.left(110.0) == 5.0
    assert IdleTime(None, now=0.0).left(1e9) is None
