"""AlterClientQuotas and DescribeClientQuotas: limits of users, client ids, both together, and addresses."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

import msgspec

from tidelog.base.addresses import address_text
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record
from tidelog.metadata.image.security_builder import entity_text, quota_entity
from tidelog.metadata.image.security_records import QuotaChanged
from tidelog.security.quotas.entity import QuotaEntity, QuotaKey

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_KINDS = frozenset({USER, CLIENT_ID, IP})
_OF_ADDRESSES = {QuotaKey.CONNECTION_CREATION_RATE}

EntityText = Sequence[tuple[str, str | None]]


class QuotaEdit(msgspec.Struct, frozen=True):
    entity: EntityText
    limits: Sequence[tuple[str, float | None]]
    """None takes a limit away."""


class AlteredQuota(ItemResult, frozen=True, kw_only=True):
    entity: EntityText


class QuotaFilter(msgspec.Struct, frozen=True):
    kind: str
    name: str | None = None
    """None is the default entity; not looked at where `any_name` is set."""
    any_name: bool = False


def decide_alter_quotas(
    image: ClusterImage, edits: Sequence[QuotaEdit], *, validate_only: bool = False
) -> Decision[AlteredQuota]:
    records: list[Record] = []
    results = []
    for edit in edits:
        try:
            wanted = list(_records(image, edit))
        except KafkaError as error:
            results.append(AlteredQuota.refused(error, entity=edit.entity))
            continue
        records += [] if validate_only else wanted
        results.append(AlteredQuota(entity=edit.entity))
    return Decision(records, results)


def described_quotas(
    image: ClusterImage, filters: Sequence[QuotaFilter], *, strict: bool
) -> Iterator[tuple[QuotaEntity, Mapping[QuotaKey, float]]]:
    """Entities that every filter selects; with `strict`, those alone that name nothing else."""
    kinds = [chosen.kind for chosen in filters]
    if len(set(kinds)) < len(kinds):
        raise _invalid("Entity types must not be duplicated in the filter")
    for kind in kinds:
        if kind not in ENTITY_KINDS:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Custom entity type '{kind}' not supported")
    if IP in kinds and len(kinds) > 1:
        raise _invalid(
            "Invalid entity filter component combination, IP filter component should not be used with "
            "user or clientId filter component."
        )
    for entity, limits in image.security.quotas.items():
        named = entity_text(entity)
        if strict and named.keys() != set(kinds):
            continue
        if all(
            chosen.kind in named and (chosen.any_name or named[chosen.kind] == chosen.name)
            for chosen in filters
        ):
            yield entity, limits


def _records(image: ClusterImage, edit: QuotaEdit) -> Iterator[Record]:
    named = _checked_entity(edit.entity)
    known = image.security.quotas.get(quota_entity(named), {})
    seen = set()
    for name, value in edit.limits:
        key = _key(name, named)
        if key in seen:
            raise _invalid(f"Quota '{name}' is given twice for one entity")
        seen.add(key)
        if value is not None:
            _check_value(key, value)
        if value != known.get(key):
            yield QuotaChanged(named, key.value, value)


def _checked_entity(entity: EntityText) -> dict[str, str | None]:
    named = dict(entity)
    if not named:
        raise _invalid("Invalid empty client quota entity")
    if len(named) < len(entity):
        raise _invalid("Entity types must not be duplicated in an entity")
    for kind, name in named.items():
        if kind not in ENTITY_KINDS:
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
    if IP in named and len(named) > 1:
        raise _invalid("Invalid quota entity combination: ip stands alone")
    address = named.get(IP)
    if address is not None:
        named[IP] = _address(address)
    return named


def _key(name: str, named: Mapping[str, str | None]) -> QuotaKey:
    try:
        key = QuotaKey(name)
    except ValueError:
        raise _invalid(f"Invalid configuration key {name}") from None
    if (key in _OF_ADDRESSES) != (IP in named):
        raise _invalid(f"Invalid configuration key {name} for the entity type {' and '.join(named)}")
    return key


def _check_value(key: QuotaKey, value: float) -> None:
    if not isfinite(value) or value < 0 or (value == 0 and key is not QuotaKey.CONNECTION_CREATION_RATE):
        raise _invalid(f"Quota {key.value} must be greater than 0; {value} is not")
    is_whole = key in (
        QuotaKey.PRODUCER_BYTE_RATE,
        QuotaKey.CONSUMER_BYTE_RATE,
        QuotaKey.CONNECTION_CREATION_RATE,
    )
    if is_whole and abs(value - round(value)) > 1e-6:
        raise _invalid(f"Quota {key.value} must be a whole number; {value} is not")


def _address(text: str) -> str:
    try:
        return address_text(text)
    except ValueError:
        raise _invalid(f"{text} is not a valid IP or resolvable host.") from None


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
