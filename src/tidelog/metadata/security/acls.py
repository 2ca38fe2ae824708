"""CreateAcls and DeleteAcls. Creating an ACL that exists has no effect; a filter may select nothing."""

from collections.abc import Iterable, Sequence

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record
from tidelog.metadata.image.security_builder import acl_text
from tidelog.metadata.image.security_records import AclCreated, AclDeleted
from tidelog.security.acls.acl import Acl, AclFilter
from tidelog.security.acls.vocabulary import CLUSTER_NAME, Operation, PatternType, Permission, ResourceType
from tidelog.security.principal import parse_principal

NAME_MAX = 1024
ACLS_MAX = 100_000
"""In a cluster: each decision and each snapshot carries them."""


class DeletedAcls(ItemResult, frozen=True, kw_only=True):
    acls: tuple[Acl, ...] = ()


def decide_create_acls(image: ClusterImage, acls: Sequence[Acl]) -> Decision[ItemResult]:
    """Each for itself: one that is refused does not keep the others from being created."""
    records: list[Record] = []
    results: list[ItemResult] = []
    known = set(image.security.acls)
    for acl in acls:
        try:
            check_acl(acl)
            if acl not in known and len(known) >= ACLS_MAX:
                raise _invalid(f"The cluster has {len(known)} ACLs already; the limit is {ACLS_MAX}.")
        except KafkaError as error:
            results.append(ItemResult.refused(error))
            continue
        if acl not in known:
            known.add(acl)
            records.append(AclCreated(acl_text(acl)))
        results.append(ItemResult())
    return Decision(records, results)


def decide_delete_acls(image: ClusterImage, filters: Sequence[AclFilter]) -> Decision[DeletedAcls]:
    """Every filter answers with what it selects, also where an earlier one of the request selects it too."""
    deleted: dict[Acl, None] = {}
    results: list[DeletedAcls] = []
    for chosen in filters:
        try:
            check_filter(chosen)
        except KafkaError as error:
            results.append(DeletedAcls.refused(error))
            continue
        selected = tuple(chosen.select(image.security.acls))
        deleted.update(dict.fromkeys(selected))
        results.append(DeletedAcls(acls=selected))
    return Decision([AclDeleted(acl_text(acl)) for acl in deleted], results)


def check_acl(acl: Acl) -> None:
    if acl.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY):
        raise _invalid(f"Invalid resourceType {acl.resource_type.name}")
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise _invalid(f"Invalid patternType {acl.pattern_type.name}")
    if acl.operation in (Operation.UNKNOWN, Operation.ANY):
        raise _invalid(f"Invalid operation {acl.operation.name}")
    if acl.permission not in (Permission.ALLOW, Permission.DENY):
        raise _invalid(f"Invalid permissionType {acl.permission.name}")
    if not acl.resource_name:
        raise _invalid("Resource name should not be empty")
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.host:
        raise _invalid("The host should not be empty; * stands for every host")
    if max(len(acl.resource_name), len(acl.principal), len(acl.host)) > NAME_MAX:
        raise _invalid(f"Names in ACLs may have {NAME_MAX} characters")
    parse_principal(acl.principal)


def check_filter(chosen: AclFilter) -> None:
    unknown = [
        what
        for what, value in (
            ("resourceType", chosen.resource_type),
            ("patternType", chosen.pattern_type),
            ("operation", chosen.operation),
            ("permissionType", chosen.permission),
        )
        if not value
    ]
    if unknown:
        raise _invalid(f"Unknown {' and '.join(unknown)} in the filter")


def sorted_acls(acls: Iterable[Acl]) -> list[Acl]:
    """In an order that people can read: by resource, then principal."""
    return sorted(acls, key=msgspec.structs.astuple)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
