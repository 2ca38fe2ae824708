"""Applies records on security to a draft of the image, and says which records make an image."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, TypeVar

import msgspec

from tidelog.base.invariant import broken, invariant
from tidelog.metadata.image.security import DelegationToken, Grant, Role, SecurityImage
from tidelog.metadata.image.security_records import (
    AclCreated,
    AclDeleted,
    AclText,
    DelegationTokenChanged,
    DelegationTokenDeleted,
    GrantText,
    QuotaChanged,
    RoleChanged,
    RoleDeleted,
    RoleMembersChanged,
    ScramCredentialChanged,
    ScramCredentialDeleted,
    SecurityRecord,
)
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.security.quotas.entity import ABSENT, QuotaEntity, QuotaKey
from tidelog.security.sasl.scram_credential import ScramCredential, ScramMechanism

EnumT = TypeVar("EnumT", bound=Enum)
_QUOTA_PARTS = {"user": "user", "client-id": "client_id", "ip": "ip"}


class SecurityDraft:
    """Changes copies of everything that the base holds."""

    def __init__(self, base: SecurityImage) -> None:
        self._base = base
        self._acls = set(base.acls)
        self._roles = dict(base.roles)
        self._credentials = dict(base.credentials)
        self._quotas = dict(base.quotas)
        self._tokens = dict(base.tokens)

    def apply(self, record: SecurityRecord) -> None:
        SECURITY_RECORDS[type(record)](self, record)

    def build(self) -> SecurityImage:
        acls = frozenset(self._acls)
        base = self._base
        return SecurityImage(
            base.acls if acls == base.acls else acls,
            self._roles,
            self._credentials,
            self._quotas,
            self._tokens,
        )

    def acl_created(self, record: AclCreated) -> None:
        acl = acl_of(record.acl)
        invariant(acl not in self._acls, "an ACL that exists already", record=record)
        self._acls.add(acl)

    def acl_deleted(self, record: AclDeleted) -> None:
        acl = acl_of(record.acl)
        invariant(acl in self._acls, "no such ACL", record=record)
        self._acls.remove(acl)

    def role_changed(self, record: RoleChanged) -> None:
        before = self._roles.get(record.name)
        grants = tuple(map(_grant_of, record.grants))
        self._roles[record.name] = Role(record.name, grants, before.principals if before else ())

    def role_deleted(self, record: RoleDeleted) -> None:
        invariant(record.name in self._roles, "no such role", record=record)
        del self._roles[record.name]

    def role_members_changed(self, record: RoleMembersChanged) -> None:
        before = self._roles.get(record.name)
        if before is None:
            broken("no such role", record=record)
        self._roles[record.name] = Role(record.name, before.grants, record.principals)

    def credential_changed(self, record: ScramCredentialChanged) -> None:
        self._credentials[record.user, _mechanism(record.mechanism)] = ScramCredential(
            record.salt, record.iterations, record.stored_key, record.server_key
        )

    def credential_deleted(self, record: ScramCredentialDeleted) -> None:
        key = (record.user, _mechanism(record.mechanism))
        invariant(key in self._credentials, "no such credential", user=record.user)
        del self._credentials[key]

    def quota_changed(self, record: QuotaChanged) -> None:
        entity = quota_entity(record.entity)
        limits = dict(self._quotas.get(entity, {}))
        if record.value is None:
            limits.pop(QuotaKey(record.key), None)
        else:
            limits[QuotaKey(record.key)] = record.value
        if limits:
            self._quotas[entity] = limits
        else:
            self._quotas.pop(entity, None)

    def token_changed(self, record: DelegationTokenChanged) -> None:
        self._tokens[record.token_id] = DelegationToken(
            record.token_id,
            record.owner,
            record.requester,
            record.renewers,
            record.issued_ms,
            record.expires_ms,
            record.ends_ms,
        )

    def token_deleted(self, record: DelegationTokenDeleted) -> None:
        invariant(record.token_id in self._tokens, "no such delegation token", record=record)
        del self._tokens[record.token_id]


SECURITY_RECORDS: dict[type, Callable[[SecurityDraft, Any], None]] = {
    AclCreated: SecurityDraft.acl_created,
    AclDeleted: SecurityDraft.acl_deleted,
    RoleChanged: SecurityDraft.role_changed,
    RoleDeleted: SecurityDraft.role_deleted,
    RoleMembersChanged: SecurityDraft.role_members_changed,
    ScramCredentialChanged: SecurityDraft.credential_changed,
    ScramCredentialDeleted: SecurityDraft.credential_deleted,
    QuotaChanged: SecurityDraft.quota_changed,
    DelegationTokenChanged: SecurityDraft.token_changed,
    DelegationTokenDeleted: SecurityDraft.token_deleted,
}


def security_records(image: SecurityImage) -> Iterator[SecurityRecord]:
    """The records that lead from nothing to this image, in an order that is always the same."""
    for acl in sorted(image.acls, key=msgspec.structs.astuple):
        yield AclCreated(acl_text(acl))
    for role in image.roles.values():
        yield role_record(role)
        if role.principals:
            yield RoleMembersChanged(role.name, role.principals)
    for (user, mechanism), credential in image.credentials.items():
        yield credential_record(user, mechanism, credential)
    for entity, limits in image.quotas.items():
        for key, value in limits.items():
            yield QuotaChanged(entity_text(entity), key.value, value)
    for token in image.tokens.values():
        yield token_record(token)


def acl_text(acl: Acl) -> AclText:
    return AclText(
        acl.resource_type.name,
        acl.pattern_type.name,
        acl.resource_name,
        acl.principal,
        acl.host,
        acl.operation.name,
        acl.permission.name,
    )


def acl_of(text: AclText) -> Acl:
    return Acl(
        _named(ResourceType, text.resource_type),
        _named(PatternType, text.pattern_type),
        text.resource_name,
        text.principal,
        text.host,
        _named(Operation, text.operation),
        _named(Permission, text.permission),
    )


def role_record(role: Role) -> RoleChanged:
    return RoleChanged(role.name, tuple(map(_grant_text, role.grants)))


def credential_record(
    user: str, mechanism: ScramMechanism, credential: ScramCredential
) -> ScramCredentialChanged:
    return ScramCredentialChanged(
        user,
        mechanism.mechanism_name,
        credential.iterations,
        credential.salt,
        credential.stored_key,
        credential.server_key,
    )


def token_record(token: DelegationToken) -> DelegationTokenChanged:
    return DelegationTokenChanged(
        token.id,
        token.owner,
        token.requester,
        token.renewers,
        token.issued_ms,
        token.expires_ms,
        token.ends_ms,
    )


def entity_text(entity: QuotaEntity) -> dict[str, str | None]:
    named = {kind: getattr(entity, field) for kind, field in _QUOTA_PARTS.items()}
    return {kind: name for kind, name in named.items() if name is not ABSENT}


def quota_entity(text: dict[str, str | None]) -> QuotaEntity:
    return QuotaEntity(**{_QUOTA_PARTS[kind]: name for kind, name in text.items()})


def _grant_of(text: GrantText) -> Grant:
    return Grant(
        _named(ResourceType, text.resource_type),
        _named(PatternType, text.pattern_type),
        text.resource_name,
        tuple(_named(Operation, name) for name in text.operations),
    )


def _grant_text(grant: Grant) -> GrantText:
    return GrantText(
        grant.resource_type.name,
        grant.pattern_type.name,
        grant.resource_name,
        tuple(operation.name for operation in grant.operations),
    )


def _named(kind: type[EnumT], name: str) -> EnumT:
    if name not in kind.__members__:
        broken(f"an unknown {kind.__name__}", name=name)
    return kind[name]


def _mechanism(name: str) -> ScramMechanism:
    mechanism = ScramMechanism.by_name(name)
    if mechanism is None:
        broken("an unknown SCRAM mechanism", mechanism=name)
    return mechanism
