"""ACLs arranged so that a decision looks at those of one resource only, however many there are.

Literal names and prefixes are found by dictionary lookups: a name of n characters has n + 1 prefixes, and
only the lengths that some prefix has are tried.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum

from tidelog.security.acls.acl import WILDCARD, Acl
from tidelog.security.acls.vocabulary import ALLOWED_BY, Operation, PatternType, Permission, ResourceType
from tidelog.security.principal import EVERYONE

_EVERYONE = str(EVERYONE)
_Key = tuple[ResourceType, str]


class Verdict(Enum):
    ALLOWED = "allowed"
    DENIED = "denied"
    NO_ACL = "no acl"
    """No ACL of any principal covers the resource: `allow.everyone.if.no.acl.found` decides."""


class AclIndex:
    """Holds equal ACLs once, however often they are added: a role and an ACL may amount to the same."""

    def __init__(self, acls: Iterable[Acl] = ()) -> None:
        self._count: Counter[Acl] = Counter()
        self._literal: dict[_Key, list[Acl]] = {}
        self._prefixed: dict[_Key, list[Acl]] = {}
        self._prefix_lengths: dict[ResourceType, Counter[int]] = {}
        for acl in acls:
            self.add(acl)

    def __len__(self) -> int:
        return len(self._count)

    def __iter__(self) -> Iterator[Acl]:
        return iter(self._count)

    def add(self, acl: Acl) -> None:
        self._count[acl] += 1
        if self._count[acl] > 1:
            return
        key = (acl.resource_type, acl.resource_name)
        if acl.pattern_type is PatternType.LITERAL:
            self._literal.setdefault(key, []).append(acl)
            return
        if key not in self._prefixed:
            lengths = self._prefix_lengths.setdefault(acl.resource_type, Counter())
            lengths[len(acl.resource_name)] += 1
        self._prefixed.setdefault(key, []).append(acl)

    def remove(self, acl: Acl) -> None:
        self._count[acl] -= 1
        if self._count[acl] > 0:
            return
        del self._count[acl]
        key = (acl.resource_type, acl.resource_name)
        by_name = self._literal if acl.pattern_type is PatternType.LITERAL else self._prefixed
        by_name[key].remove(acl)
        if by_name[key]:
            return
        del by_name[key]
        if by_name is self._prefixed:
            lengths = self._prefix_lengths[acl.resource_type]
            lengths[len(acl.resource_name)] -= 1
            if not lengths[len(acl.resource_name)]:
                del lengths[len(acl.resource_name)]

    def covering(self, resource_type: ResourceType, name: str) -> Iterator[Acl]:
        """All ACLs whose pattern includes the resource."""
        yield from self._literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), ())
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self._prefixed.get((resource_type, name[:length]), ())

    def decide(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType, name: str
    ) -> Verdict:
        """A denial that applies beats every permission; without a permission the answer is no."""
        verdict = Verdict.NO_ACL
        for acl in self.covering(resource_type, name):
            if verdict is Verdict.NO_ACL:
                verdict = Verdict.DENIED
            if not applies(acl, principal, host, operation):
                continue
            if acl.permission is Permission.DENY:
                return Verdict.DENIED
            verdict = Verdict.ALLOWED
        return verdict

    def decide_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        """Whether the principal may do `operation` with any resource of the type, existing or not.

        A permission counts unless one denial covers all that it covers.
        """
        applying = [
            acl
            for acl in self._count
            if acl.resource_type is resource_type and applies(acl, principal, host, operation)
        ]
        denials = [acl for acl in applying if acl.permission is Permission.DENY]
        if any(_is_for_all(denial) for denial in denials):
            return Verdict.DENIED
        for acl in applying:
            if acl.permission is Permission.ALLOW and not any(_includes(denial, acl) for denial in denials):
                return Verdict.ALLOWED
        # Short of an ACL for all resources there is always a name that no ACL covers.
        return Verdict.DENIED if (resource_type, WILDCARD) in self._literal else Verdict.NO_ACL


def applies(acl: Acl, principal: str, host: str, operation: Operation) -> bool:
    """Whether the ACL speaks of this principal, host and operation, on the resources that it covers."""
    if acl.principal not in (principal, _EVERYONE) or acl.host not in (host, WILDCARD):
        return False
    if acl.permission is Permission.ALLOW:
        return acl.operation in ALLOWED_BY[operation]
    return acl.operation in (operation, Operation.ALL)


def _is_for_all(acl: Acl) -> bool:
    return acl.pattern_type is PatternType.LITERAL and acl.resource_name == WILDCARD


def _includes(denial: Acl, acl: Acl) -> bool:
    """Whether `denial` covers every resource that `acl` covers, short of a denial for all."""
    if _is_for_all(acl):
        return False
    if denial.pattern_type is PatternType.PREFIXED:
        return acl.resource_name.startswith(denial.resource_name)
    return acl.pattern_type is PatternType.LITERAL and acl.resource_name == denial.resource_name
