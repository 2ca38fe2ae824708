"""Who may do what: the authorizer, super users, and ACLs and roles that allow too much."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidelog.base.settings.authorization import STANDARD_AUTHORIZER
from tidelog.cli.acl.resources import ResourcePattern, option_for
from tidelog.cli.findings import CheckFinding, Severity
from tidelog.cli.security.checks.broker_facts import BrokerFacts
from tidelog.metadata.image.security import Role
from tidelog.security.acls.acl import Acl
from tidelog.security.acls.vocabulary import Operation, Permission, ResourceType

ANONYMOUS = "User:ANONYMOUS"
EVERY_USER = "User:*"
EVERY_RESOURCE = "*"
HARMLESS = (Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.READ)


def check_authorizer(broker: BrokerFacts) -> Iterator[CheckFinding]:
    if not broker.setting("authorizer.class.name"):
        yield CheckFinding(
            "no-authorizer",
            Severity.SERIOUS,
            broker.name,
            "no authorizer: authorizer.class.name is empty",
            "every client that can connect may do everything, whatever its user and the ACLs are.",
            f"authorizer.class.name={STANDARD_AUTHORIZER}, and super.users=User:admin",
        )
        return
    if broker.setting("allow.everyone.if.no.acl.found").lower() == "true":
        yield CheckFinding(
            "open-by-default",
            Severity.SERIOUS,
            broker.name,
            "allow.everyone.if.no.acl.found is true",
            "every user may use each resource that no ACL names, new topics among them.",
            "allow.everyone.if.no.acl.found=false, and ACLs or roles for those who need them",
        )
    users = [user.strip() for user in broker.setting("super.users").split(";")]
    if ANONYMOUS in users:
        yield CheckFinding(
            "anonymous-super-user",
            Severity.SERIOUS,
            broker.name,
            f"super.users holds {ANONYMOUS}",
            "a client that does not say who it is may do everything.",
            "super.users without it; tools log in as a user, brokers by their certificates",
        )


def check_acls(acls: Iterable[Acl]) -> Iterator[CheckFinding]:
    for acl in acls:
        if acl.permission is not Permission.ALLOW:
            continue
        if acl.principal in (EVERY_USER, ANONYMOUS):
            yield _for_all(acl)
        elif acl.operation is Operation.ALL and acl.resource_name == EVERY_RESOURCE:
            yield _all_on_all(acl)


def check_roles(roles: Iterable[Role]) -> Iterator[CheckFinding]:
    """By the ACLs that they amount to; a role without a principal lets nobody in."""
    for role in roles:
        for acl in role.acls():
            revoke = f"tidelog role revoke {shlex.quote(role.name)} --from {shlex.quote(acl.principal)}"
            for finding in check_acls([acl]):
                yield replace(
                    finding,
                    code=finding.code.replace("acl", "role", 1),
                    where=f"role '{role.name}', {finding.where}",
                    what=finding.what.replace("an ACL", f"the role '{role.name}'", 1),
                    mend=f"{revoke}; then grant a role that allows less, to those who need it",
                )


def _for_all(acl: Acl) -> CheckFinding:
    is_harmless = acl.operation in HARMLESS and acl.resource_type is not ResourceType.CLUSTER
    group = "every user" if acl.principal == EVERY_USER else "clients without a user"
    return CheckFinding(
        "acl-for-everyone",
        Severity.MEDIUM if is_harmless else Severity.SERIOUS,
        _text(acl),
        f"an ACL lets {group} {_does(acl)} {_resource(acl)}",
        "every client that gets in has this permission, now and later.",
        f"tidelog acl remove {_selection(acl)}; then name the users, or a role",
    )


def _all_on_all(acl: Acl) -> CheckFinding:
    return CheckFinding(
        "acl-on-everything",
        Severity.MEDIUM,
        _text(acl),
        f"an ACL lets {acl.principal} do everything with {_resource(acl)}",
        "a stolen password of this user costs all of it.",
        f"tidelog acl remove {_selection(acl)}; then allow what the user needs, by name or prefix",
    )


def _does(acl: Acl) -> str:
    return "do everything with" if acl.operation is Operation.ALL else acl.operation.name


def _text(acl: Acl) -> str:
    return f"{acl.principal} {acl.operation.name} on {_resource(acl)}"


def _resource(acl: Acl) -> str:
    return f"{acl.resource_type.name.lower()} '{acl.resource_name}'"


def _selection(acl: Acl) -> str:
    resource = ResourcePattern(acl.resource_type, acl.pattern_type, acl.resource_name)
    return f"--principal {shlex.quote(acl.principal)} {option_for(resource)}"
