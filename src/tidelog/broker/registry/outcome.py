"""A call that a broker could not answer, and what the caller's broker makes of that."""

import json
from typing import NamedTuple

from tidelog.broker.registry.calls import Answer
from tidelog.registry.errors import RegistryCode

ANSWER_BYTES_MAX = 96 * 1024 * 1024
"""Less than what one broker takes from another."""


class Again(NamedTuple):
    """A try without an answer."""

    reason: str
    may_have_run: bool = False
    is_final: bool = False
    """Another try would end the same way."""


def unavailable(reason: str) -> Answer:
    return _refusal(
        RegistryCode.UNAVAILABLE,
        f"The schema registry is not available: {reason}. Try again; if it stays so, `tidelog doctor` says "
        "which broker is missing",
    )


def too_large(answer_bytes: int) -> Answer:
    return _refusal(
        RegistryCode.UNPROCESSABLE,
        f"The answer has {answer_bytes} bytes or more, and brokers pass on {ANSWER_BYTES_MAX} at most. "
        "Ask for parts of it, with the parameters offset and limit",
    )


def unsure(reason: str) -> Answer:
    return _refusal(
        RegistryCode.OPERATION_TIMEOUT,
        f"It is not known whether the deletion took effect: {reason}. Look at the subject, then try again",
    )


def _refusal(code: RegistryCode, message: str) -> Answer:
    return Answer(code.status, json.dumps({"error_code": code, "message": message}).encode())
