"""May a principal do this, and by which rule? The same index that brokers decide with, and its reasons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidelog.metadata.image.security import Role
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.index import AclIndex, Verdict, applies
from tidelog.security.acls.vocabulary import Operation, Permission, ResourceType


@dataclass(frozen=True, slots=True)
class Rule:
    """An ACL, and the role that it comes from, if it does."""

    acl: Acl
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    principal: str
    operation: Operation
    resource_type: ResourceType
    name: str
    host: str


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the brokers' settings say beside the rules; None: they could not be read."""

    super_users: frozenset[str] | None = None
    allow_if_no_acl: bool | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    is_allowed: bool
    reason: str
    rules: Sequence[Rule] = ()
    """The rules that decide: all denials that apply, or else all permissions."""


def rules_of(acls: Iterable[Acl], roles: Iterable[Role]) -> list[Rule]:
    rules = [Rule(acl) for acl in acls]
    return rules + [Rule(acl, role.name) for role in roles for acl in role.acls()]


def explain(question: Question, rules: Sequence[Rule], defaults: Defaults) -> Explanation:
    if defaults.super_users and question.principal in defaults.super_users:
        return Explanation(True, "it is one of super.users, to which no ACL applies")
    asked = question.principal, question.host, question.operation, question.resource_type, question.name
    verdict = AclIndex(rule.acl for rule in rules).decide(*asked)
    applying = [rule for rule in rules if _applies(rule.acl, question)]
    denials = [rule for rule in applying if rule.acl.permission is Permission.DENY]
    if denials:
        return Explanation(False, "a DENY beats every ALLOW", denials)
    if verdict is Verdict.ALLOWED:
        return Explanation(True, "a rule allows it", applying)
    if verdict is Verdict.NO_ACL and defaults.allow_if_no_acl:
        return Explanation(
            True, "no rule of any principal names it, and allow.everyone.if.no.acl.found is true"
        )
    return Explanation(False, "no ACL or role allows it")


def _applies(acl: Acl, question: Question) -> bool:
    return (
        acl.resource_type is question.resource_type
        and acl.covers(question.name)
        and applies(acl, question.principal, question.host, question.operation)
    )
