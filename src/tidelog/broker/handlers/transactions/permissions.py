"""Who may use a transactional id, and with it the producer ids that its coordinator gave out for it."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.transactions.transaction import Identity, TopicPartition


def check_transactional_id(context: Context, transactional_id: str) -> None:
    if not context.allows(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def is_own_producer(context: Context, transactional_id: str | None, producer: Identity) -> bool:
    """Whether the producer id is known to be that of the transactional id, which the client may use.

    Batches of a transaction that is open already need no question to the coordinator. Without this check a
    client could write into the open transaction of another.
    """
    services = context.services
    if services.authorizer is None:
        return True
    return services.verification.belongs_to(producer.producer_id, transactional_id or "")


async def verify_open(
    context: Context, transactional_id: str | None, producer: Identity, where: TopicPartition
) -> ErrorCode:
    """Ask the coordinator whether a transaction that is open here is one of the transactional id."""
    verdicts = await context.services.verification.verify(
        transactional_id or "", producer, (where,), add=False
    )
    return verdicts[where]


def check_two_phase_commit(context: Context, transactional_id: str) -> None:
    """Such a transaction does not time out: it can hold up readers for as long as its owner likes."""
    if not context.allows(Operation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
