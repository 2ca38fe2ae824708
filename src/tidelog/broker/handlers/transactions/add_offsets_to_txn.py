"""AddOffsetsToTxn: the partition that holds a group's offsets joins the transaction."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.transactions.permissions import check_transactional_id
from tidelog.broker.requests.context import Context
from tidelog.metadata.topics.names import CONSUMER_OFFSETS
from tidelog.security.acls.vocabulary import Operation, ResourceType
from tidelog.transactions.messages import AddRequest
from tidelog.transactions.transaction import Identity, TopicPartition
from tidelog.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

KNOWS_FENCED_FROM = 2


async def handle(context: Context, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    services = context.services
    try:
        check_transactional_id(context, request.transactional_id)
        if not context.allows(Operation.READ, ResourceType.GROUP, request.group_id):
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
        if not request.group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        if not services.groups.has_topic:
            await services.groups.ensure_topic()
        where = TopicPartition(CONSUMER_OFFSETS, services.groups.partition_of(request.group_id))
        producer = Identity(request.producer_id, request.producer_epoch)
        wanted = AddRequest(request.transactional_id, producer, (where,))
        served = services.transactions.of(request.transactional_id)
        error = await served.run_next(
            wanted.transactional_id, lambda _: served.shard.add(wanted, served.now_ms)
        )
    except KafkaError as refusal:
        error = refusal.code
    if error is ErrorCode.PRODUCER_FENCED and context.version < KNOWS_FENCED_FROM:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=error)
