"""Which quota applies: entities, and Kafka's precedence among them.

A quota is set for a user, a client id, both, or an address; each may be the default (None). The most specific
quota applies. It also says who shares it: a quota of a user is shared by all client ids of that user.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class QuotaKey(Enum):
    """The limits, under the names that Kafka's tools use."""

    PRODUCER_BYTE_RATE = "producer_byte_rate"
    CONSUMER_BYTE_RATE = "consumer_byte_rate"
    REQUEST_PERCENTAGE = "request_percentage"
    CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
    CONNECTION_CREATION_RATE = "connection_creation_rate"


DEFAULT = None
"""As a name: what applies to users, client ids or addresses without a quota of their own."""


class Absent(Enum):
    """As a part of an entity: the entity does not name a user, or does not name a client id."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
Name = str | None | Absent


class QuotaEntity(NamedTuple):
    user: Name = ABSENT
    client_id: Name = ABSENT
    ip: Name = ABSENT

    def __str__(self) -> str:
        named = {"user": self.user, "client-id": self.client_id, "ip": self.ip}
        parts = [f"{kind}={name or '<default>'}" for kind, name in named.items() if name is not ABSENT]
        return ", ".join(parts)


Quotas = Mapping[QuotaEntity, Mapping[QuotaKey, float]]


class AppliedQuota(NamedTuple):
    limit: float
    shared_by: tuple[str | None, str | None]
    """User and client id whose traffic counts together; None where all of them do."""


def quota_of(quotas: Quotas, key: QuotaKey, user: str, client_id: str) -> AppliedQuota | None:
    """The limit for this user and client id; None where there is none."""
    for entity in by_precedence(user, client_id):
        limit = quotas.get(entity, {}).get(key)
        if limit is not None:
            return AppliedQuota(
                limit,
                (
                    None if entity.user is ABSENT else user,
                    None if entity.client_id is ABSENT else client_id,
                ),
            )
    return None


def connection_rate_of(quotas: Quotas, address: str) -> float | None:
    for entity in (QuotaEntity(ip=address), QuotaEntity(ip=DEFAULT)):
        limit = quotas.get(entity, {}).get(QuotaKey.CONNECTION_CREATION_RATE)
        if limit is not None:
            return limit
    return None


def by_precedence(user: str, client_id: str) -> tuple[QuotaEntity, ...]:
    """The entities that a client belongs to, the most specific first."""
    return (
        QuotaEntity(user, client_id),
        QuotaEntity(user, DEFAULT),
        QuotaEntity(user),
        QuotaEntity(DEFAULT, client_id),
        QuotaEntity(DEFAULT, DEFAULT),
        QuotaEntity(DEFAULT),
        QuotaEntity(client_id=client_id),
        QuotaEntity(client_id=DEFAULT),
    )
