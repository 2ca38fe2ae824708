"""Values and errors as answers: compact JSON, with the fields in Confluent's order."""

from collections.abc import Iterable
from typing import Any

import msgspec

from tidelog.broker.registry.calls import Answer
from tidelog.registry.errors import RegistryCode, RegistryError

encode = msgspec.json.Encoder().encode
NOTHING = Answer(204, b"")


def answer_of(value: Any) -> Answer:
    return Answer(200, encode(value))


def list_answer(items: Iterable[bytes]) -> Answer:
    """Of items that are JSON already."""
    return Answer(200, b"[" + b",".join(items) + b"]")


def text_answer(text: str) -> Answer:
    """A schema as it is, not as a JSON string."""
    return Answer(200, text.encode(errors="replace"))


def error_answer(error: RegistryError) -> Answer:
    return refusal(error.code, error.message)


def refusal(code: RegistryCode, message: str) -> Answer:
    # What a client sent may be in the sentence, and may be half of a surrogate pair.
    shown = message.encode(errors="replace").decode()
    return Answer(code.status, encode({"error_code": int(code), "message": shown}))
