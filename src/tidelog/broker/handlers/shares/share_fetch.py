"""ShareFetch: a member of a share group acknowledges records, and gets others."""

import asyncio
from functools import partial

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.broker.handlers.shares.fetch_job import WAIT_MS_MAX, ShareFetchJob, refusal_to_read
from tidelog.broker.handlers.shares.served import check_group, check_offered, shares_of
from tidelog.broker.requests.context import Context
from tidelog.broker.shares.acknowledgements import Acknowledgements
from tidelog.wire.messages.share_fetch import ShareFetchRequest, ShareFetchResponse

RENEW_SINCE = 2


def handle(
    context: Context, request: ShareFetchRequest
) -> "ShareFetchResponse | asyncio.Future[ShareFetchResponse]":
    connection = context.connection
    try:
        check_offered(context.services)
        check_group(context, request.group_id)
        _check_renewal(request)
        shares = shares_of(context.services)
        plan = shares.sessions.plan(request, connection.connection_id)
    except KafkaError as error:
        refused = ShareFetchResponse(error_code=error.code, error_message=error.message)
        if error.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
            return _later(refused, request.max_wait_ms)
        return refused
    connection.on_closed = shares.connection_closed
    acks = Acknowledgements()
    may_renew = context.version >= RENEW_SINCE and request.is_renew_ack
    acks.apply(shares, plan, partial(refusal_to_read, context), may_renew=may_renew)
    if plan.is_final:
        shares.end_session(plan.member)
    return ShareFetchJob(context, shares, request, plan, acks).start()


def _check_renewal(request: ShareFetchRequest) -> None:
    """A renewed lock must not run out while its request waits for records, so it asks for none (KIP-1222)."""
    if request.is_renew_ack and (
        request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
    ):
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "maxBytes, minBytes, maxRecords and maxWaitMs must be set to 0 if isRenewAck is true.",
        )


def _later(response: ShareFetchResponse, wait_ms: int) -> "asyncio.Future[ShareFetchResponse]":
    """The client would ask again at once, and again."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[ShareFetchResponse] = loop.create_future()

    def answer() -> None:
        if not future.done():
            future.set_result(response)

    timer = loop.call_later(min(wait_ms, WAIT_MS_MAX) / 1000, answer)
    future.add_done_callback(lambda _: timer.cancel())
    return future
