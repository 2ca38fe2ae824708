"""The part of the cluster image that security is decided by. Immutable, as the image is."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from tidelog.base.ids import TimestampMs
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType
from tidelog.security.quotas.entity import Quotas
from tidelog.security.sasl.scram_credential import ScramCredential, ScramMechanism


class Grant(msgspec.Struct, frozen=True):
    """What a role allows with the resources of one pattern."""

    resource_type: ResourceType
    pattern_type: PatternType
    resource_name: str
    operations: tuple[Operation, ...]


class Role(msgspec.Struct, frozen=True):
    name: str
    grants: tuple[Grant, ...] = ()
    principals: tuple[str, ...] = ()

    def acls(self) -> Iterator[Acl]:
        """The ACLs that the role amounts to."""
        for principal in self.principals:
            for grant in self.grants:
                for operation in grant.operations:
                    yield Acl(
                        grant.resource_type,
                        grant.pattern_type,
                        grant.resource_name,
                        principal,
                        "*",
                        operation,
                        Permission.ALLOW,
                    )


class DelegationToken(msgspec.Struct, frozen=True):
    id: str
    owner: str
    requester: str
    renewers: tuple[str, ...]
    issued_ms: TimestampMs
    expires_ms: TimestampMs
    ends_ms: TimestampMs

    def is_valid(self, now_ms: TimestampMs) -> bool:
        return now_ms < min(self.expires_ms, self.ends_ms)


class SecurityImage(msgspec.Struct, frozen=True):
    acls: frozenset[Acl] = frozenset()
    roles: Mapping[str, Role] = {}
    credentials: Mapping[tuple[str, ScramMechanism], ScramCredential] = {}
    quotas: Quotas = {}
    tokens: Mapping[str, DelegationToken] = {}

    def all_acls(self) -> Iterable[Acl]:
        """Those of roles too; one that is there twice counts twice."""
        yield from self.acls
        for role in self.roles.values():
            yield from role.acls()
