"""ListTransactions: those that this broker coordinates and the client may see, by state, producer id, age or
name."""

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.requests.context import Context
from tidelog.groups.consumer.topic_pattern import matching_topics
from tidelog.security.acls.vocabulary import ResourceType
from tidelog.transactions.listing import unknown_states
from tidelog.transactions.messages import ListFilter
from tidelog.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)


def handle(context: Context, request: ListTransactionsRequest) -> ListTransactionsResponse:
    transactions = context.services.transactions
    unknown = unknown_states(request.state_filters)
    if transactions.service.is_loading:
        return ListTransactionsResponse(
            error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, unknown_state_filters=unknown
        )
    wanted = ListFilter(request.state_filters, request.producer_id_filters, request.duration_filter)
    now_ms = context.services.clock.now_ms()
    found = [
        one
        for serving in transactions
        for one in serving.shard.listed(wanted, now_ms)
        if context.may_see(ResourceType.TRANSACTIONAL_ID, one.transactional_id)
    ]
    if request.transactional_id_pattern:
        try:
            # The whole id must match, by the same rules as a consumer's pattern for topics.
            ids = matching_topics(request.transactional_id_pattern, [one.transactional_id for one in found])
        except KafkaError as refusal:
            return ListTransactionsResponse(error_code=refusal.code, unknown_state_filters=unknown)
        found = [one for one in found if one.transactional_id in ids]
    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            TransactionState(
                transactional_id=one.transactional_id,
                producer_id=one.producer_id,
                transaction_state=one.state,
            )
            for one in found
        ],
    )
