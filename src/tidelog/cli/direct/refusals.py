"""Error codes in answers of our own client, as errors for people."""

from tidelog.base.errors import ErrorCode
from tidelog.cli.denials import denial
from tidelog.cli.exits import CliError, Exit

_EXITS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Exit.NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_ID: Exit.NOT_FOUND,
    ErrorCode.BROKER_ID_NOT_REGISTERED: Exit.NOT_FOUND,
    ErrorCode.RESOURCE_NOT_FOUND: Exit.NOT_FOUND,
    ErrorCode.VOTER_NOT_FOUND: Exit.NOT_FOUND,
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: Exit.NOT_FOUND,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: Exit.NOT_FOUND,
    ErrorCode.PRODUCER_FENCED: Exit.REFUSED,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: Exit.REFUSED,
    ErrorCode.DUPLICATE_VOTER: Exit.REFUSED,
    ErrorCode.POLICY_VIOLATION: Exit.REFUSED,
    ErrorCode.REASSIGNMENT_IN_PROGRESS: Exit.REFUSED,
    ErrorCode.UNSUPPORTED_VERSION: Exit.REFUSED,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: Exit.REFUSED,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: Exit.REFUSED,
    ErrorCode.REQUEST_TIMED_OUT: Exit.TIMED_OUT,
    ErrorCode.BROKER_NOT_AVAILABLE: Exit.UNREACHABLE,
}


def known(code: int) -> ErrorCode:
    return next((error for error in ErrorCode if error == code), ErrorCode.UNKNOWN_SERVER_ERROR)


def reason(code: int, message: str | None) -> str:
    """The broker's own words where it has some; they end as a sentence does."""
    said = (message or known(code).text).strip()
    return said if said.endswith((".", "!", "?")) else said + "."


def refusal(
    code: int, message: str | None, what: str, *, cause: str | None = None, attempt: str | None = None
) -> CliError:
    said = reason(code, message)
    return denial(known(code).name, said, what) or CliError(
        f"{what}: {said}", cause=cause, attempt=attempt, code=exit_of(code)
    )


def exit_of(code: int) -> Exit:
    error = known(code)
    if error in _EXITS:
        return _EXITS[error]
    if "AUTH" in error.name:
        return Exit.DENIED
    return Exit.REFUSED if "INVALID" in error.name or "INCONSISTENT" in error.name else Exit.FAILED
