"""Which subject a record's schema is registered under: by topic, by the record's name, or by both."""

from collections.abc import Callable
from typing import Literal, TypeAlias

SubjectName: TypeAlias = Literal["topic", "record", "topic_record"] | Callable[[str, str, bool], str]
"""A function gets the topic, the full name of the record, and whether it is a key."""


def subject_for(strategy: SubjectName, topic: str, record: str, is_key: bool) -> str:
    """Confluent's strategies, byte for byte: other clients look for the same subjects."""
    if callable(strategy):
        return strategy(topic, record, is_key)
    if strategy == "topic":
        return f"{topic}-{'key' if is_key else 'value'}"
    if not record:
        raise ValueError(f'the schema has no name, so that subject_name="{strategy}" finds no subject')
    return record if strategy == "record" else f"{topic}-{record}"


def check_strategy(strategy: SubjectName) -> None:
    if not callable(strategy) and strategy not in ("topic", "record", "topic_record"):
        raise ValueError(
            f'subject_name is {strategy!r}; it can be "topic", "record", "topic_record", or a function'
        )
