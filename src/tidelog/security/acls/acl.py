"""One ACL, and the filters that DescribeAcls and DeleteAcls select ACLs with."""

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

    def selects(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self._selects_pattern(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )

    def _selects_pattern(self, acl: Acl) -> bool:
        if self.pattern_type is PatternType.MATCH:
            return self.resource_name is None or acl.covers(self.resource_name)
        return self.pattern_type in (PatternType.ANY, acl.pattern_type) and self.resource_name in (
            None,
            acl.resource_name,
        )
