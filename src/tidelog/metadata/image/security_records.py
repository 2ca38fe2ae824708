"""Metadata records on security: ACLs, roles, SCRAM credentials, quotas and delegation tokens.

Enumerations are written under Kafka's names (`TOPIC`, `READ`, `SCRAM-SHA-256`), so that the log can be read.
"""

from typing import TypeAlias

import msgspec

from tidelog.base.ids import TimestampMs
from tidelog.metadata.image.record_base import MetadataRecord


class AclText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An ACL in the names of its parts."""

    resource_type: str
    pattern_type: str
    resource_name: str
    principal: str
    host: str
    operation: str
    permission: str


class AclCreated(MetadataRecord, frozen=True, tag="acl-created"):
    acl: AclText


class AclDeleted(MetadataRecord, frozen=True, tag="acl-deleted"):
    acl: AclText


class GrantText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a role allows with the resources of one pattern."""

    resource_type: str
    pattern_type: str
    resource_name: str
    operations: tuple[str, ...]


class RoleChanged(MetadataRecord, frozen=True, tag="role-changed"):
    """A role exists from now on with these permissions, in place of those that it had."""

    name: str
    grants: tuple[GrantText, ...]


class RoleDeleted(MetadataRecord, frozen=True, tag="role-deleted"):
    """The role goes, and with it every membership."""

    name: str


class RoleMembersChanged(MetadataRecord, frozen=True, tag="role-members-changed"):
    """The principals that have the role, all of them."""

    name: str
    principals: tuple[str, ...]


class ScramCredentialChanged(MetadataRecord, frozen=True, tag="scram-credential-changed"):
    user: str
    mechanism: str
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


class ScramCredentialDeleted(MetadataRecord, frozen=True, tag="scram-credential-deleted"):
    user: str
    mechanism: str


class QuotaChanged(MetadataRecord, frozen=True, tag="quota-changed"):
    """A limit of an entity, or with None its end. It names a user, client id or ip; null is the default."""

    entity: dict[str, str | None]
    key: str
    value: float | None


class DelegationTokenChanged(MetadataRecord, frozen=True, tag="delegation-token-changed"):
    token_id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: TimestampMs
    expires_ms: TimestampMs
    ends_ms: TimestampMs
    """No renewal reaches beyond this."""


class DelegationTokenDeleted(MetadataRecord, frozen=True, tag="delegation-token-deleted"):
    token_id: str


SecurityRecord: TypeAlias = (
    AclCreated
    | AclDeleted
    | RoleChanged
    | RoleDeleted
    | RoleMembersChanged
    | ScramCredentialChanged
    | ScramCredentialDeleted
    | QuotaChanged
    | DelegationTokenChanged
    | DelegationTokenDeleted
)
