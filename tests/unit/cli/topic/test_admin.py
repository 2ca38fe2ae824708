"""What a person is told where a broker refuses something about a topic."""

import pytest
from confluent_kafka import KafkaError

from tidelog.cli.exits import Exit
from tidelog.cli.session import Session
from tidelog.cli.topic.admin import topic_error


@pytest.mark.parametrize(
    ("code", "message", "attempt", "exit_code"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, "There is no topic 't'", "tidelog topic list", Exit.NOT_FOUND),
        (KafkaError.TOPIC_ALREADY_EXISTS, "exists already", "--if-not-exists", Exit.EXISTS),
        (KafkaError.LEADER_NOT_AVAILABLE, "without a leader", "tidelog cluster status", Exit.FAILED),
        (KafkaError._NOENT, "without a leader", "tidelog cluster status", Exit.FAILED),
        (KafkaError.INVALID_REPLICATION_FACTOR, "said so.", "--replication-factor", Exit.REFUSED),
    ],
)
def test_every_refusal_says_what_to_try(code: int, message: str, attempt: str, exit_code: Exit) -> None:
    shown = topic_error(KafkaError(code, "said so"), "t", Session())
    assert message in shown.message
    assert attempt in (shown.attempt or "")
    assert shown.code is exit_code
