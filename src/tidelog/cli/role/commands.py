"""`tidelog role`: create roles, grant them to principals, and show the ACLs that they amount to."""

from collections.abc import Callable
from typing import Any

import click

from tidelog.cli.acl.calls import list_roles
from tidelog.cli.acl.explanation import Rule
from tidelog.cli.acl.patterns import pattern_words
from tidelog.cli.acl.permissions import permission_options, word
from tidelog.cli.acl.principals import PrincipalParameter
from tidelog.cli.acl.tables import rule_json, show_rules
from tidelog.cli.direct.cluster import DirectCluster
from tidelog.cli.exits import CliError, Exit
from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.output import print_json, print_table
from tidelog.cli.role.calls import alter_role
from tidelog.cli.session import Session, broker_options, pass_session
from tidelog.metadata.image.security import Grant, Role
from tidelog.metadata.security.roles import RoleChangeKind
from tidelog.security.acls.vocabulary import ResourceType


@click.group(cls=FullHelpGroup)
def role() -> None:
    """Name sets of permissions, and grant them to principals."""


@role.command()
@click.argument("name")
@permission_options
@click.option(
    "--replace", is_flag=True, help="Replace the permissions of a role that exists; its principals stay."
)
@broker_options
@pass_session
def create(session: Session, name: str, grants: list[Grant], replace: bool) -> None:
    """Create a role with these permissions.

    A name is literal. With a * at its end it is a prefix: 'orders.*' is every name that begins with
    "orders.", and * alone is every name. There are no other wildcards.

    \b
    tidelog role create analyst --read 'orders.*' --group 'analyst-*'
    tidelog role create shop --write orders --create orders --transactional-id 'shop-*'
    tidelog role create operator --cluster alter --cluster describe --permission 'alter-configs:topic:*'
    """
    if not grants:
        raise click.UsageError("Name at least one permission, such as --read orders.")
    kind = RoleChangeKind.REPLACE if replace else RoleChangeKind.CREATE
    alter_role(DirectCluster(session), name, kind, grants=grants)
    if session.json:
        print_json({"role": name, "grants": [_grant_json(grant) for grant in grants]})
        return
    print(f"Role {name} allows:")
    for grant in grants:
        print(f"  {_grant_text(grant)}")


def _principals_option(option: str, text: str) -> Callable[[Any], Any]:
    return click.option(
        option,
        "principals",
        multiple=True,
        required=True,
        type=PrincipalParameter(),
        metavar="User:NAME",
        help=f"{text} Repeatable.",
    )


@role.command()
@click.argument("name")
@_principals_option("--to", "The principal that gets the role.")
@broker_options
@pass_session
def grant(session: Session, name: str, principals: tuple[str, ...]) -> None:
    """Grant a role to principals.

    \b
    tidelog role grant analyst --to User:reports
    """
    alter_role(DirectCluster(session), name, RoleChangeKind.GRANT, principals=principals)
    _tell(session, name, f"is granted to {', '.join(principals)}", principals)


@role.command()
@click.argument("name")
@_principals_option("--from", "The principal that loses the role.")
@broker_options
@pass_session
def revoke(session: Session, name: str, principals: tuple[str, ...]) -> None:
    """Take a role away from principals. Their ACLs and other roles stay.

    \b
    tidelog role revoke analyst --from User:reports
    """
    alter_role(DirectCluster(session), name, RoleChangeKind.REVOKE, principals=principals)
    _tell(session, name, f"is revoked from {', '.join(principals)}", principals)


@role.command()
@click.argument("name")
@broker_options
@pass_session
def delete(session: Session, name: str) -> None:
    """Delete a role: its principals lose what it allows."""
    alter_role(DirectCluster(session), name, RoleChangeKind.DELETE)
    _tell(session, name, "is deleted", ())


@role.command("list")
@broker_options
@pass_session
def list_command(session: Session) -> None:
    """List roles with what they allow and the principals that have them."""
    roles = list_roles(DirectCluster(session))
    if session.json:
        print_json([_role_json(one) for one in roles])
    elif not roles:
        print("There are no roles.")
    else:
        rows = [
            (one.name, "; ".join(map(_grant_text, one.grants)), ", ".join(one.principals) or "-")
            for one in roles
        ]
        print_table(("ROLE", "ALLOWS", "PRINCIPALS"), rows)


@role.command()
@click.argument("name")
@broker_options
@pass_session
def show(session: Session, name: str) -> None:
    """Show a role as the ACLs that it amounts to."""
    roles = list_roles(DirectCluster(session), [name])
    if not roles:
        raise CliError(f"There is no role '{name}'.", attempt="tidelog role list", code=Exit.NOT_FOUND)
    [shown] = roles
    rules = [Rule(acl, shown.name) for acl in shown.acls()]
    if session.json:
        print_json({**_role_json(shown), "acls": [rule_json(rule) for rule in rules]})
    elif rules:
        show_rules(rules)
    else:
        print(f"Role {name} is granted to no principal, and amounts to no ACL. It allows:")
        for one in shown.grants:
            print(f"  {_grant_text(one)}")


def _grant_text(grant: Grant) -> str:
    operations = ", ".join(operation.name for operation in grant.operations)
    if grant.resource_type is ResourceType.CLUSTER:
        return f"{operations} on the cluster"
    names = pattern_words(grant.pattern_type, grant.resource_name)
    return f"{operations} on {word(grant.resource_type)}: {names}"


def _grant_json(grant: Grant) -> dict[str, object]:
    return {
        "resource_type": grant.resource_type.name,
        "pattern_type": grant.pattern_type.name,
        "resource_name": grant.resource_name,
        "operations": [operation.name for operation in grant.operations],
    }


def _role_json(shown: Role) -> dict[str, object]:
    return {
        "role": shown.name,
        "grants": [_grant_json(grant) for grant in shown.grants],
        "principals": list(shown.principals),
    }


def _tell(session: Session, name: str, verb: str, principals: tuple[str, ...]) -> None:
    if session.json:
        print_json({"role": name, "principals": list(principals)})
    else:
        print(f"Role {name} {verb}.")
