"""Handlers whose requests the audit record wants: they work as before, and their outcome becomes events.

A request that changes the cluster's metadata is handled by the controller on behalf of the original client,
so its event is recorded once, where it was decided. Without an audit record no handler is wrapped.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any

from tidelog.base.errors import ErrorCode
from tidelog.base.ids import uuid_text
from tidelog.broker.requests.answer import HandlerAnswer, NoResponse, Response
from tidelog.broker.requests.context import Context
from tidelog.broker.requests.forwarding import is_refused_as_controller
from tidelog.broker.security.audit.audit import Audit
from tidelog.broker.security.audit.changes import AUDITED_CHANGES, changes_of, is_change, result_text
from tidelog.security.audit.event import AuditEvent, AuditKind
from tidelog.wire.apis import ApiKey
from tidelog.wire.message import Message
from tidelog.wire.messages.share_fetch import ShareFetchRequest

Handler = Callable[[Context, Any], HandlerAnswer]

log = logging.getLogger("tidelog.broker.audit")

_OF_RECORDS = {
    ApiKey.PRODUCE: AuditKind.WROTE,
    ApiKey.FETCH: AuditKind.READ,
    ApiKey.SHARE_FETCH: AuditKind.READ,
}


def audited(audit: Audit, api_key: ApiKey, handle: Handler) -> Handler:
    """The handler itself, or a wrapper where the audit record wants such requests."""
    kind = _kind_of(api_key)
    if kind is None or not audit.wants(kind):
        return handle

    def record(context: Context, request: Any, response: Response) -> None:
        """An event that cannot be described must not fail the request, which has been carried out."""
        if not context.connection.host:  # this broker's own request, such as for an internal topic
            return
        try:
            for event in _events(kind, api_key, context, request, response):
                audit.record(event)
        except Exception:
            log.exception("a request of %s could not be recorded", context.connection)

    async def record_later(context: Context, request: Any, answer: Any) -> Response:
        response: Response = await answer
        record(context, request, response)
        return response

    def watched(context: Context, request: Any) -> HandlerAnswer:
        answer = handle(context, request)
        if kind is AuditKind.CHANGED and not is_change(api_key, request):
            return answer
        if isinstance(answer, (Message, NoResponse)):
            record(context, request, answer)
            return answer
        return record_later(context, request, answer)

    return watched


def _kind_of(api_key: ApiKey) -> AuditKind | None:
    if api_key in AUDITED_CHANGES:
        return AuditKind.CHANGED
    return _OF_RECORDS.get(api_key)


def _events(
    kind: AuditKind, api_key: int, context: Context, request: Any, response: Response
) -> Iterator[AuditEvent]:
    if kind is AuditKind.CHANGED:
        if isinstance(response, NoResponse) or is_refused_as_controller(response):
            return
        for change in changes_of(api_key, request, response):
            yield AuditEvent(
                kind=kind,
                actor=context.actor,
                api=context.api,
                resource_type=change.resource_type,
                resource=change.name,
                result=result_text(change.code),
                details=change.details,
            )
        return
    for name, code in _topics(kind, context, request, response):
        yield AuditEvent(
            kind=kind,
            actor=context.actor,
            api=context.api,
            resource_type="TOPIC",
            resource=name,
            result=result_text(code),
        )


def _topics(kind: AuditKind, context: Context, request: Any, response: Any) -> Iterator[tuple[str, int]]:
    """Each topic that was read or written, with the first error of its partitions."""
    if isinstance(response, NoResponse):
        for topic in request.topic_data:
            yield _name_of(context, topic.name, topic.topic_id), ErrorCode.NONE
        return
    is_write = kind is AuditKind.WROTE
    is_shared = isinstance(request, ShareFetchRequest)
    if not is_write and not is_shared and _is_follower(request):
        return
    for topic in response.responses:
        partitions = topic.partition_responses if is_write else topic.partitions
        name = topic.name if is_write else "" if is_shared else topic.topic
        code = next((part.error_code for part in partitions if part.error_code), ErrorCode.NONE)
        yield _name_of(context, name, topic.topic_id), code


def _is_follower(request: Any) -> bool:
    state = request.replica_state
    replica_id: int = request.replica_id if state is None else state.replica_id
    return replica_id >= 0


def _name_of(context: Context, name: str, topic_id: bytes) -> str:
    if name:
        return name
    topic = context.services.metadata.image.topics_by_id.get(topic_id)
    return topic.name if topic is not None else uuid_text(topic_id)
