"""Changes of the registry in the audit record: recorded by the leader, once they are committed or refused, or
once it is known that no answer will tell."""

import json
from urllib.parse import unquote

from tidelog.broker.registry.authorization import API, actor_of
from tidelog.broker.registry.calls import Answer, Call
from tidelog.broker.requests.context import Services
from tidelog.registry.errors import RegistryCode
from tidelog.security.audit.event import OK, AuditEvent, AuditKind

_REFUSED = 400
_DENIED = 403
"""For lack of a permission: the authorization has recorded it."""


def record_call(services: Services, call: Call, answer: Answer, *, has_written: bool) -> None:
    """Record a call that changed something, or was refused to. Its path names what: a subject, a config."""
    audit = services.audit
    is_refused = answer.status >= _REFUSED and answer.status != _DENIED and _is_change(call)
    if audit is None or not audit.wants(AuditKind.CHANGED) or not (has_written or is_refused):
        return
    result = RegistryCode(json.loads(answer.body)["error_code"]).name if is_refused else OK
    audit.record(_event(call, result))


def record_unsure(services: Services, call: Call) -> None:
    """Record a change that is in the log and may come to stay, though no answer says so.

    Its client left, or this broker lost the lead. Where the call is tried again it may find its own change,
    which is then none of the second try.
    """
    if services.audit is not None and services.audit.wants(AuditKind.CHANGED):
        services.audit.record(_event(call, RegistryCode.OPERATION_TIMEOUT.name))


def _event(call: Call, result: str) -> AuditEvent:
    return AuditEvent(
        kind=AuditKind.CHANGED,
        actor=actor_of(call),
        api=API,
        operation=call.method,
        resource_type="SCHEMA",
        resource=unquote(call.path),
        result=result,
    )


def _is_change(call: Call) -> bool:
    """Calls that ask (a lookup by content, a compatibility check) are POSTs, too."""
    if call.method == "POST":
        return call.path.rstrip("/").endswith("/versions") and "/compatibility/" not in call.path
    return call.method in ("PUT", "DELETE")
