"""One ACL, and the filters that DescribeAcls and DeleteAcls select ACLs with."""

from collections.abc import Iterable

import msgspec

from tidelog.security.acls.vocabulary import Operation, PatternType, Permission, ResourceType

WILDCARD = "*"
"""As a literal resource name: every resource of the type. As a host: every host."""


class Acl(msgspec.Struct, frozen=True):
    """`principal` may, or with DENY may not, do `operation` with the resources of a pattern, from `host`."""

    resource_type: ResourceType
    pattern_type: PatternType
    resource_name: str
    principal: str
    host: str
    operation: Operation
    permission: Permission

    def covers(self, name: str) -> bool:
        """Whether the pattern includes the resource with this name."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.resource_name)
        return self.resource_name in (name, WILDCARD)


class AclFilter(msgspec.Struct, frozen=True):
    """ANY and None select everything."""

    resource_type: ResourceType = ResourceType.ANY
    pattern_type: PatternType = PatternType.ANY
    resource_name: str | None = None
    principal: str | None = None
    host: str | None = None
    operation: Operation = Operation.ANY
    permission: Permission = Permission.ANY

    def select(self, acls: Iterable[Acl]) -> list[Acl]:
        """Returns those that fit. Each step looks only at what the steps before have left, without a call for
        each ACL: there may be a hundred thousand of them."""
        left = list(acls)
        if self.principal is not None:
            left = [acl for acl in left if acl.principal == self.principal]
        if self.resource_name is not None:
            left = self._with_pattern(left, self.resource_name)
        elif self.pattern_type not in (PatternType.ANY, PatternType.MATCH):
            left = [acl for acl in left if acl.pattern_type is self.pattern_type]
        if self.host is not None:
            left = [acl for acl in left if acl.host == self.host]
        if self.resource_type is not ResourceType.ANY:
            left = [acl for acl in left if acl.resource_type is self.resource_type]
        if self.operation is not Operation.ANY:
            left = [acl for acl in left if acl.operation is self.operation]
        if self.permission is not Permission.ANY:
            left = [acl for acl in left if acl.permission is self.permission]
        return left

    def _with_pattern(self, acls: list[Acl], name: str) -> list[Acl]:
        if self.pattern_type is PatternType.MATCH:
            return [acl for acl in acls if acl.covers(name)]
        named = [acl for acl in acls if acl.resource_name == name]
        if self.pattern_type is PatternType.ANY:
            return named
        return [acl for acl in named if acl.pattern_type is self.pattern_type]
