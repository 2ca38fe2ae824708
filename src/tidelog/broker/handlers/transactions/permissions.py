"""Who may use a transactional id, and with it the producer ids that its coordinator gave out for it."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType


def check_transactional_id(context: Context, transactional_id: str) -> None:
    if not context.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def check_two_phase_commit(context: Context, transactional_id: str) -> None:
    """Such a transaction does not time out: it can hold up readers for as long as its owner likes."""
    if not context.allows(Operation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
