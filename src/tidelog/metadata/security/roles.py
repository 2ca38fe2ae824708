"""Roles: named sets of permissions, granted to principals; shown as the ACLs that they amount to."""

import re
from collections.abc import Sequence
from enum import IntEnum

import msgspec

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.image.records import Record
from tidelog.metadata.image.security import Grant, Role
from tidelog.metadata.image.security_builder import role_record
from tidelog.metadata.image.security_records import RoleDeleted, RoleMembersChanged
from tidelog.metadata.security.acls import ACLS_MAX, check_acl
from tidelog.security.principal import parse_principal

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

ROLES_MAX = 10_000


class RoleChangeKind(IntEnum):
    """As on the wire."""

    CREATE = 0
    REPLACE = 1
    """Other permissions for the same principals; creates the role if there is none."""
    DELETE = 2
    GRANT = 3
    REVOKE = 4


class RoleChange(msgspec.Struct, frozen=True):
    name: str
    kind: int
    grants: Sequence[Grant] = ()
    principals: Sequence[str] = ()


def decide_alter_roles(image: ClusterImage, changes: Sequence[RoleChange]) -> Decision[ItemResult]:
    """Each change for itself, on what the changes before it have left."""
    records: list[Record] = []
    results: list[ItemResult] = []
    for change in changes:
        decision = _decide(image, change)
        records += decision.records
        results += decision.results
        image = advance(image, decision.records).after
    return Decision(records, results)


def _decide(image: ClusterImage, change: RoleChange) -> Decision[ItemResult]:
    name = change.name
    match change.kind:
        case RoleChangeKind.CREATE if name in image.security.roles:
            exists = KafkaError(ErrorCode.DUPLICATE_RESOURCE, f"There is a role {name} already.")
            return Decision([], [ItemResult.refused(exists)])
        case RoleChangeKind.CREATE | RoleChangeKind.REPLACE:
            return decide_put_role(image, name, change.grants)
        case RoleChangeKind.DELETE:
            return decide_delete_role(image, name)
        case RoleChangeKind.GRANT:
            return decide_change_members(image, name, add=change.principals)
        case RoleChangeKind.REVOKE:
            return decide_change_members(image, name, remove=change.principals)
    return Decision([], [ItemResult.refused(_invalid(f"{change.kind} is no kind of change to a role."))])


def decide_put_role(image: ClusterImage, name: str, grants: Sequence[Grant]) -> Decision[ItemResult]:
    """Create the role, or replace its permissions; its members stay."""
    try:
        if not _NAME.fullmatch(name):
            raise _invalid(
                f"A role is named with letters, digits, '.', '_' and '-', 100 at most, not {name!r}."
            )
        if name not in image.security.roles and len(image.security.roles) >= ROLES_MAX:
            raise _invalid(f"The cluster has {ROLES_MAX} roles already, which is the limit.")
        if not all(grant.operations for grant in grants):
            raise _invalid(f"Role {name} has a permission without an operation.")
        if not grants:
            raise _invalid(f"Role {name} would allow nothing: name at least one permission.")
        role = Role(name, tuple(grants), ("User:anyone",))
        for acl in role.acls():
            check_acl(acl)
        known = image.security.roles.get(name)
        _check_size(role if known is None else Role(name, role.grants, known.principals))
    except KafkaError as error:
        return Decision([], [ItemResult.refused(error)])
    is_same = known is not None and known.grants == role.grants
    return Decision([] if is_same else [role_record(role)], [ItemResult()])


def decide_delete_role(image: ClusterImage, name: str) -> Decision[ItemResult]:
    if name not in image.security.roles:
        return Decision([], [_unknown(image, name)])
    return Decision([RoleDeleted(name)], [ItemResult()])


def decide_change_members(
    image: ClusterImage, name: str, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> Decision[ItemResult]:
    role = image.security.roles.get(name)
    if role is None:
        return Decision([], [_unknown(image, name)])
    try:
        for principal in add:
            parse_principal(principal)
        if absent := [principal for principal in remove if principal not in role.principals]:
            raise _invalid(f"Role {name} is not granted to {', '.join(absent)}.")
        members = tuple(sorted({*role.principals, *add} - set(remove)))
        _check_size(Role(name, role.grants, members))
    except KafkaError as error:
        return Decision([], [ItemResult.refused(error)])
    records: list[Record] = [] if members == role.principals else [RoleMembersChanged(name, members)]
    return Decision(records, [ItemResult()])


def _check_size(role: Role) -> None:
    count = len(role.principals) * sum(len(grant.operations) for grant in role.grants)
    if count > ACLS_MAX:
        raise _invalid(f"Role {role.name} would amount to {count} ACLs; the limit is {ACLS_MAX}.")


def _unknown(image: ClusterImage, name: str) -> ItemResult:
    known = ", ".join(sorted(image.security.roles)) or "none"
    return ItemResult(
        error=ErrorCode.RESOURCE_NOT_FOUND, message=f"There is no role {name}; there are: {known}."
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
