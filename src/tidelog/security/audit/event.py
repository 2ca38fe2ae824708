"""One event of the audit record, and its JSON line.

JSON escapes every control character, so no name that a client invents can begin a line of its own.
"""

from datetime import UTC, datetime
from enum import Enum
from typing import Any

import msgspec

from tidelog.base.ids import TimestampMs

OK = "OK"
TEXT_MAX = 256
"""Characters of a text that a client chose; a client id may be 32 KiB long."""

DETAILS_MAX = 50
"""Of one event; a request may name a hundred thousand."""


class AuditKind(Enum):
    """Named as in `audit.events` and in the lines."""

    AUTHENTICATION_FAILED = "authentication_failed"
    AUTHENTICATED = "authenticated"
    DENIED = "denied"
    CHANGED = "changed"
    READ = "read"
    WROTE = "wrote"


class Actor(msgspec.Struct, frozen=True):
    """The client behind an event."""

    principal: str
    host: str
    listener: str
    client_id: str | None = None


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True):
    kind: AuditKind
    actor: Actor
    api: str = ""
    operation: str = ""
    resource_type: str = ""
    resource: str = ""
    result: str = ""
    """An error code's name, or OK."""
    reason: str = ""
    details: tuple[tuple[str, str], ...] = ()


def bounded(event: AuditEvent) -> AuditEvent:
    """The event with as much of what the client chose as its line shows: it may be kept for a while."""
    actor = event.actor
    details = event.details
    if len(details) > DETAILS_MAX:
        kept = DETAILS_MAX - 1
        details = (*details[:kept], ("more", str(len(details) - kept)))
    return msgspec.structs.replace(
        event,
        actor=msgspec.structs.replace(
            actor,
            principal=_bounded(actor.principal),
            client_id=None if actor.client_id is None else _bounded(actor.client_id),
        ),
        resource=_bounded(event.resource),
        reason=_bounded(event.reason),
        details=tuple((_bounded(name), _bounded(value)) for name, value in details),
    )


def line_of(event: AuditEvent, now_ms: TimestampMs, broker: int, repeated: int = 0) -> bytes:
    """`repeated` counts the equal events since the last line of this event."""
    event = bounded(event)
    actor = event.actor
    fields: dict[str, Any] = {
        "time": _time_text(now_ms),
        "event": event.kind.value,
        "broker": broker,
        "principal": actor.principal,
        "host": actor.host,
        "listener": actor.listener,
        "client_id": actor.client_id,
        "api": event.api,
        "operation": event.operation,
        "resource_type": event.resource_type,
        "resource": event.resource,
        "result": event.result,
        "reason": event.reason,
        "details": dict(event.details),
        "repeated": repeated,
    }
    kept = {name: value for name, value in fields.items() if value or name == "broker"}
    return msgspec.json.encode(kept) + b"\n"


def dropped_line(count: int, now_ms: TimestampMs, broker: int) -> bytes:
    """Events came faster than they could be written, and so many are missing here."""
    fields = {"time": _time_text(now_ms), "event": "dropped", "broker": broker, "count": count}
    return msgspec.json.encode(fields) + b"\n"


def _time_text(now_ms: TimestampMs) -> str:
    moment = datetime.fromtimestamp(now_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{now_ms % 1000:03d}Z"


def _bounded(text: str) -> str:
    """Lone surrogates have no UTF-8 form and would stop the line from being written."""
    whole = text.encode("utf-8", "backslashreplace").decode()
    return whole if len(whole) <= TEXT_MAX else whole[:TEXT_MAX] + "…"
