"""Roles: named sets of permissions, granted to principals; shown as the ACLs that they amount to."""

import re
from collections.abc import Sequence

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.decision import Decision, ItemResult
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.image.records import Record
from tidelog.metadata.image.security import Grant, Role
from tidelog.metadata.image.security_builder import role_record
from tidelog.metadata.image.security_records import RoleDeleted, RoleMembersChanged
from tidelog.metadata.security.acls import check_acl
from tidelog.security.principal import parse_principal

_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def decide_put_role(image: ClusterImage, name: str, grants: Sequence[Grant]) -> Decision[ItemResult]:
    """Create the role, or replace its permissions; its members stay."""
    try:
        if not _NAME.fullmatch(name):
            raise _invalid(
                f"A role is named with letters, digits, '.', '_' and '-', 100 at most, not {name!r}."
            )
        if not grants:
            raise _invalid(f"Role {name} would allow nothing: name at least one permission.")
        role = Role(name, tuple(grants), ("User:anyone",))
        for acl in role.acls():
            check_acl(acl)
    except KafkaError as error:
        return Decision([], [ItemResult.refused(error)])
    known = image.security.roles.get(name)
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
    except KafkaError as error:
        return Decision([], [ItemResult.refused(error)])
    members = tuple(sorted({*role.principals, *add} - set(remove)))
    records: list[Record] = [] if members == role.principals else [RoleMembersChanged(name, members)]
    return Decision(records, [ItemResult()])


def _unknown(image: ClusterImage, name: str) -> ItemResult:
    known = ", ".join(sorted(image.security.roles)) or "none"
    return ItemResult(
        error=ErrorCode.RESOURCE_NOT_FOUND, message=f"There is no role {name}; there are: {known}."
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
