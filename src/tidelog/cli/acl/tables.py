"""ACLs and roles as tables and JSON: what is literal and what is a prefix is said in words."""

from collections.abc import Iterable
from typing import Any

from tidelog.cli.acl.explanation import Rule
from tidelog.cli.acl.patterns import pattern_words
from tidelog.cli.acl.permissions import word
from tidelog.cli.output import print_table
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import ResourceType

COLUMNS = ("PRINCIPAL", "PERMISSION", "OPERATION", "RESOURCE", "NAMES", "HOST", "FROM")


def show_rules(rules: Iterable[Rule]) -> None:
    print_table(COLUMNS, [_row(rule) for rule in sorted(rules, key=_order)])


def rule_json(rule: Rule) -> dict[str, Any]:
    acl = rule.acl
    return {
        "principal": acl.principal,
        "permission": acl.permission.name,
        "operation": acl.operation.name,
        "resource_type": acl.resource_type.name,
        "pattern_type": acl.pattern_type.name,
        "resource_name": acl.resource_name,
        "host": acl.host,
        "role": rule.role,
    }


def rule_text(rule: Rule) -> str:
    """`ALLOW READ on topics, names that begin with 'orders.', for User:x from any host (role analyst)`."""
    acl = rule.acl
    host = "any host" if acl.host == "*" else acl.host
    origin = "" if rule.role is None else f" (role {rule.role})"
    where = f"{acl.permission.name} {acl.operation.name} on {resource_words(acl)}"
    return f"{where}, for {acl.principal} from {host}{origin}"


def resource_words(acl: Acl) -> str:
    if acl.resource_type is ResourceType.CLUSTER:
        return "the cluster"
    return f"{word(acl.resource_type)}: {pattern_words(acl.pattern_type, acl.resource_name)}"


def _row(rule: Rule) -> tuple[str, ...]:
    acl = rule.acl
    is_cluster = acl.resource_type is ResourceType.CLUSTER
    names = "-" if is_cluster else pattern_words(acl.pattern_type, acl.resource_name)
    host = "any" if acl.host == "*" else acl.host
    origin = "ACL" if rule.role is None else f"role {rule.role}"
    return (
        acl.principal,
        acl.permission.name,
        acl.operation.name,
        word(acl.resource_type),
        names,
        host,
        origin,
    )


def _order(rule: Rule) -> tuple[Any, ...]:
    acl = rule.acl
    return (
        acl.principal,
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.permission,
        acl.operation,
        acl.host,
        rule.role or "",
    )
