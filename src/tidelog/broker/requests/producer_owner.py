"""Whose producer id is it? Each belongs to one transactional id, which ACLs give to principals."""

from tidelog.base.errors import ErrorCode
from tidelog.broker.requests.context import Context
from tidelog.transactions.transaction import Identity, TopicPartition


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
