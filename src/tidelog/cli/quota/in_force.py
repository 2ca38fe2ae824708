"""The limits of a client, the entities that they are set for, and the clients that share them."""

from collections.abc import Iterator
from typing import NamedTuple

from tidelog.security.quotas.entity import DEFAULT, QuotaEntity, QuotaKey, Quotas, by_precedence, quota_of

OF_CLIENTS = tuple(key for key in QuotaKey if key is not QuotaKey.CONNECTION_CREATION_RATE)


class LimitInForce(NamedTuple):
    key: QuotaKey
    limit: float | None = None
    """None: there is no limit."""
    entity: QuotaEntity | None = None
    shared_by: str | None = None


def in_force(quotas: Quotas, user: str | None, client_id: str | None, ip: str | None) -> list[LimitInForce]:
    """A client that does not authenticate is the user ANONYMOUS; one without a client id has an empty one."""
    found = []
    if user is not None or client_id is not None:
        found += list(_of_client(quotas, user or "ANONYMOUS", client_id or ""))
    if ip is not None:
        found.append(_of_address(quotas, ip))
    return found


def _of_client(quotas: Quotas, user: str, client_id: str) -> Iterator[LimitInForce]:
    for key in OF_CLIENTS:
        applied = quota_of(quotas, key, user, client_id)
        if applied is None:
            yield LimitInForce(key)
            continue
        entity = next(one for one in by_precedence(user, client_id) if key in quotas.get(one, {}))
        yield LimitInForce(key, applied.limit, entity, _shared_by(*applied.shared_by))


def _shared_by(user: str | None, client_id: str | None) -> str:
    if client_id is None:
        return f"all client ids of {user}"
    if user is None:
        return f"all users of client id {client_id or '(empty)'}"
    return f"client id {client_id or '(empty)'} of {user}"


def _of_address(quotas: Quotas, ip: str) -> LimitInForce:
    key = QuotaKey.CONNECTION_CREATION_RATE
    for entity in (QuotaEntity(ip=ip), QuotaEntity(ip=DEFAULT)):
        limit = quotas.get(entity, {}).get(key)
        if limit is not None:
            return LimitInForce(key, limit, entity, f"all clients at {ip}")
    return LimitInForce(key)
