"""Exit codes that scripts can rely on, and the one error type that commands raise for people.

A `CliError` says what happened, the likely cause, and the next command to try. With `--json` the same
facts go to stderr as one JSON object.
"""

from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    meaning: str

    def __new__(cls, code: int, meaning: str) -> "Exit":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = (0, "Done. A closed pipe (`| head`) counts as done too.")
    FAILED = (
        1,
        "The command failed, `log dump` or `log check` found damage, or `schema check` an incompatibility.",
    )
    USAGE = (2, "The command line is not right; nothing was done.")
    NOT_FOUND = (3, "The topic, partition, group, setting, broker, schema or file does not exist.")
    EXISTS = (4, "The topic exists already.")
    UNREACHABLE = (5, "No broker, or no schema registry, answers at the given address.")
    REFUSED = (6, "The broker refused the request: a bad value, name or size, or a group in use.")
    TIMED_OUT = (7, "The broker did not answer in time.")
    DENIED = (8, "Authentication or authorization failed.")
    INTERRUPTED = (130, "Ctrl-C.")


class CliError(Exception):
    """An expected failure: shown without a traceback."""

    def __init__(
        self,
        message: str,
        *,
        cause: str | None = None,
        attempt: str | None = None,
        code: Exit = Exit.FAILED,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause
        self.attempt = attempt
        self.code = code

    def lines(self) -> list[str]:
        shown = [f"Error: {self.message}"]
        if self.cause:
            shown.append(f"Likely cause: {self.cause}")
        if self.attempt:
            shown.append(f"Try: {self.attempt}")
        return shown

    def as_json(self) -> dict[str, Any]:
        facts = {
            "error": self.code.name,
            "exit_code": int(self.code),
            "message": self.message,
            "cause": self.cause,
            "try": self.attempt,
        }
        return {name: value for name, value in facts.items() if value is not None}
