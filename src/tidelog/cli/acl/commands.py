"""`tidelog acl`: add, remove and list ACLs, and explain what a principal may do."""

import shlex
from collections.abc import Sequence
from itertools import product

import click

from tidelog.cli.acl.calls import create_acls, delete_acls, list_acls, list_roles_if_any
from tidelog.cli.acl.defaults import read_defaults
from tidelog.cli.acl.explanation import Explanation, Question, Rule, explain, rules_of
from tidelog.cli.acl.permissions import OperationParameter, TypeParameter, word
from tidelog.cli.acl.principals import PrincipalParameter
from tidelog.cli.acl.resources import ResourcePattern, option_for, resource_options
from tidelog.cli.acl.tables import rule_json, rule_text, show_rules
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.security.acls.acl import WILDCARD, Acl, AclFilter
from tidelog.security.acls.vocabulary import (
    CLUSTER_NAME,
    OPERATIONS_ON,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

principals_option = click.option(
    "--principal",
    "principals",
    multiple=True,
    type=PrincipalParameter(),
    metavar="User:NAME",
    help="Only those of this principal. Repeatable.",
)
operations_option = click.option(
    "--operation",
    "operations",
    multiple=True,
    type=OperationParameter(),
    metavar="OPERATION",
    help="Only those for this operation. Repeatable.",
)


@click.group(cls=FullHelpGroup)
def acl() -> None:
    """Say what principals may do, rule by rule."""


@acl.command()
@click.option(
    "--principal",
    "principals",
    multiple=True,
    required=True,
    type=PrincipalParameter(),
    metavar="User:NAME",
    help="For this principal; User:* is every user. Repeatable.",
)
@click.option(
    "--operation",
    "operations",
    multiple=True,
    required=True,
    type=OperationParameter(),
    metavar="OPERATION",
    help="Such as read, write, create, describe, alter-configs or all. Repeatable.",
)
@resource_options
@click.option("--deny", is_flag=True, help="Forbid it: a denial beats every permission.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="ADDRESS",
    help="Only from this address. Repeatable. [default: any]",
)
@broker_options
@pass_session
def add(
    session: Session,
    principals: tuple[str, ...],
    operations: tuple[Operation, ...],
    resources: list[ResourcePattern],
    deny: bool,
    hosts: tuple[str, ...],
) -> None:
    """Allow or deny operations on resources.

    A name is literal. With a * at its end it is a prefix: 'orders.*' is every name that begins with
    "orders.", and * alone is every name. There are no other wildcards.

    \b
    tidelog acl add --principal User:reports --operation read --topic 'orders.*' --group 'reports-*'
    tidelog acl add --principal User:shop --operation write --operation create --topic orders
    tidelog acl add --principal User:intern --operation all --topic payroll --deny
    """
    if not resources:
        raise click.UsageError("Name a resource: --topic, --group, --transactional-id, --cluster …")
    for operation, resource in product(operations, resources):
        _check_operation(operation, resource.resource_type)
    permission = Permission.DENY if deny else Permission.ALLOW
    acls = [
        Acl(*resource, principal, host, operation, permission)
        for principal, resource, operation, host in product(
            principals, resources, operations, hosts or (WILDCARD,)
        )
    ]
    create_acls(DirectCluster(session), acls)
    _tell(session, "added", acls)


@acl.command()
@principals_option
@operations_option
@resource_options
@click.option("--deny", is_flag=True, help="Only denials.")
@click.option("--allow", is_flag=True, help="Only permissions.")
@click.option(
    "--host", "hosts", multiple=True, metavar="ADDRESS", help="Only those for this address. Repeatable."
)
@broker_options
@pass_session
def remove(
    session: Session,
    principals: tuple[str, ...],
    operations: tuple[Operation, ...],
    resources: list[ResourcePattern],
    deny: bool,
    allow: bool,
    hosts: tuple[str, ...],
) -> None:
    """Remove the ACLs that fit all that is given; others stay.

    A pattern selects the ACLs with that very pattern: --topic orders leaves one for 'orders*' alone.
    What a role allows stays, and is shown: "tidelog role" changes roles.

    \b
    tidelog acl remove --principal User:reports                     # all of this principal
    tidelog acl remove --principal User:shop --operation create --topic orders
    """
    if deny and allow:
        raise click.UsageError("Give --deny or --allow, not both.")
    if not (principals or resources):
        raise click.UsageError("Say which: --principal, or a resource such as --topic.")
    permission = Permission.DENY if deny else Permission.ALLOW if allow else Permission.ANY
    everything = ResourcePattern(ResourceType.ANY, PatternType.ANY, "")
    filters = [
        AclFilter(
            resource.resource_type,
            resource.pattern_type,
            resource.name or None,
            principal,
            host,
            operation,
            permission,
        )
        for resource, principal, operation, host in product(
            resources or [everything], principals or [None], operations or [Operation.ANY], hosts or [None]
        )
    ]
    cluster = DirectCluster(session)
    removed = delete_acls(cluster, filters)
    _tell(session, "removed", removed)
    of_roles = [
        rule
        for rule in rules_of((), list_roles_if_any(cluster))
        if any(chosen.select([rule.acl]) for chosen in filters)
    ]
    if of_roles and not session.json:
        for rule in of_roles:
            print(f"Stays: {rule_text(rule)}.")
        roles = dict.fromkeys((rule.role, rule.acl.principal) for rule in of_roles)
        for role, principal in roles:
            print(f"To end that too: tidelog role revoke {role} --from {shlex.quote(principal)}")
    if not removed:
        what = "No ACL fits; only roles do." if of_roles else "No ACL fits."
        raise CliError(what, attempt="tidelog acl list", code=Exit.NOT_FOUND)


@acl.command("list")
@principals_option
@resource_options
@broker_options
@pass_session
def list_command(session: Session, principals: tuple[str, ...], resources: list[ResourcePattern]) -> None:
    """List ACLs, and those that roles amount to.

    With a resource: the ACLs that cover it, by its name, by a prefix or by *.

    \b
    tidelog acl list --topic orders.eu
    tidelog acl list --principal User:reports
    """
    cluster = DirectCluster(session)
    rules = [
        rule
        for rule in rules_of(list_acls(cluster), list_roles_if_any(cluster))
        if (not principals or rule.acl.principal in principals)
        and (not resources or any(_shows(rule.acl, resource) for resource in resources))
    ]
    if session.json:
        print_json([rule_json(rule) for rule in rules])
    elif rules:
        show_rules(rules)
    else:
        print("No ACL or role fits.")


@acl.command("explain")
@click.argument("principal", type=PrincipalParameter(), metavar="User:NAME")
@click.argument("operation", type=OperationParameter())
@click.argument("resource_type", type=TypeParameter(), metavar="TYPE")
@click.argument("name", required=False)
@click.option("--host", metavar="ADDRESS", help="The client's address. [default: one that no rule names]")
@broker_options
@pass_session
def explain_command(
    session: Session,
    principal: str,
    operation: Operation,
    resource_type: ResourceType,
    name: str | None,
    host: str | None,
) -> int:
    """Say whether a principal may do something, and by which rule. Exit code 1: it may not.

    \b
    tidelog acl explain User:reports read topic orders.eu
    tidelog acl explain User:shop alter cluster
    """
    if name is None and resource_type is not ResourceType.CLUSTER:
        raise click.UsageError(f"Name the {word(resource_type)}.")
    _check_operation(operation, resource_type)
    cluster = DirectCluster(session)
    question = Question(principal, operation, resource_type, name or CLUSTER_NAME, host or "")
    defaults = read_defaults(cluster)
    said = explain(question, rules_of(list_acls(cluster), list_roles_if_any(cluster)), defaults)
    if session.json:
        print_json(
            {
                "allowed": said.is_allowed,
                "reason": said.reason,
                "rules": [rule_json(rule) for rule in said.rules],
            }
        )
    else:
        _say(question, said)
        if defaults.super_users is None and not said.is_allowed:
            print("The brokers' super.users could not be read: for one of them the answer is yes.")
    return Exit.OK if said.is_allowed else Exit.FAILED


def _say(question: Question, said: Explanation) -> None:
    is_cluster = question.resource_type is ResourceType.CLUSTER
    what = "the cluster" if is_cluster else f"{word(question.resource_type)} '{question.name}'"
    may = "may" if said.is_allowed else "may not"
    print(f"{question.principal} {may} {question.operation.name} {what}: {said.reason}.")
    for rule in said.rules:
        print(f"  {rule_text(rule)}")
    if not said.is_allowed and not said.rules:
        resource = ResourcePattern(question.resource_type, PatternType.LITERAL, question.name)
        print(
            f"To allow it: tidelog acl add --principal {shlex.quote(question.principal)} "
            f"--operation {word(question.operation)} {option_for(resource)}"
        )


def _shows(acl: Acl, resource: ResourcePattern) -> bool:
    if acl.resource_type is not resource.resource_type:
        return False
    if resource.pattern_type is PatternType.PREFIXED:
        return acl.resource_name.startswith(resource.name)
    return acl.covers(resource.name)


def _check_operation(operation: Operation, kind: ResourceType) -> None:
    if operation is not Operation.ALL and operation not in OPERATIONS_ON[kind]:
        possible = ", ".join(word(one) for one in OPERATIONS_ON[kind])
        raise click.UsageError(f"There is no {word(operation)} on a {word(kind)}: there are {possible}, all.")


def _tell(session: Session, verb: str, acls: Sequence[Acl]) -> None:
    if session.json:
        print_json({verb: [rule_json(Rule(acl)) for acl in acls]})
        return
    for acl in acls:
        print(f"{verb.capitalize()}: {rule_text(Rule(acl))}.")
