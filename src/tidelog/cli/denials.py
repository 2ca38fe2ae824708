"""A refusal for want of a permission: which one it was, and the command that would grant it.

Brokers say only which kind of resource was refused. The command that runs says the rest: `topic delete
orders` needs Delete on the topic orders.
"""

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.session import Session
from tidelog.clients.permissions import RESOURCE_OF, acl_command, principal_of

# By command, then by kind of resource; the longest name of a command counts.
OPERATIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "topic create": {"topic": ("Create",), "cluster": ("Create",)},
    "topic describe": {"topic": ("Describe", "DescribeConfigs")},
    "topic delete": {"topic": ("Delete",)},
    "topic alter": {"topic": ("AlterConfigs",)},
    "topic add-partitions": {"topic": ("Alter",)},
    "topic producers": {"topic": ("Read",)},
    "topic reassign": {"cluster": ("Alter",), "topic": ("AlterConfigs",)},
    "topic": {"topic": ("Describe",), "cluster": ("Describe",)},
    "produce": {"topic": ("Write",), "cluster": ("IdempotentWrite",), "transactional-id": ("Write",)},
    "consume": {"topic": ("Read",), "group": ("Read",)},
    "group delete": {"group": ("Delete",)},
    "group delete-offsets": {"group": ("Delete",), "topic": ("Read",)},
    "group reset-offsets": {"group": ("Read",), "topic": ("Read",)},
    "group": {"group": ("Describe",), "topic": ("Describe",), "cluster": ("Describe",)},
    "queue dead-letters": {"group": ("DescribeConfigs",), "topic": ("Read",)},
    "queue redrive": {
        "group": ("DescribeConfigs",),
        "topic": ("Read", "Write"),
        "cluster": ("IdempotentWrite",),
    },
    "queue reset": {"group": ("Read",), "topic": ("Read",)},
    "queue purge": {"group": ("Read",), "topic": ("Read", "Delete")},
    "queue peek": {"group": ("Describe",), "topic": ("Read",)},
    "queue": {"group": ("Describe", "DescribeConfigs"), "topic": ("Describe",), "cluster": ("Describe",)},
    "txn abort": {"cluster": ("Alter",), "transactional-id": ("Write",), "topic": ("Read",)},
    "txn": {"transactional-id": ("Describe",), "topic": ("Read",), "cluster": ("Describe",)},
    "config show": {
        "topic": ("DescribeConfigs",),
        "cluster": ("DescribeConfigs",),
        "group": ("DescribeConfigs",),
    },
    "config": {"topic": ("AlterConfigs",), "cluster": ("AlterConfigs",), "group": ("AlterConfigs",)},
    "cluster status": {"cluster": ("Describe",), "topic": ("Describe",)},
    "cluster brokers": {"cluster": ("Describe",)},
    "cluster quorum": {"cluster": ("Describe",)},
    "cluster": {"cluster": ("Alter",), "topic": ("Describe",)},
    "security user list": {"cluster": ("Describe",)},
    "security check": {"cluster": ("Describe",)},
    "security": {"cluster": ("Alter",), "delegation-token": ("Describe",)},
    "acl list": {"cluster": ("Describe",)},
    "acl": {"cluster": ("Alter",)},
    "role": {"cluster": ("Alter",)},
    "quota list": {"cluster": ("DescribeConfigs",)},
    "quota": {"cluster": ("AlterConfigs",)},
    "lake": {"topic": ("Read",), "group": ("Read",)},
}
_NAMED_BY = {
    "topic": ("topic", "names", "name"),
    "group": ("group", "names", "name"),
    "transactional-id": ("ids",),
}


def denial(code_name: str, said: str, what: str) -> CliError | None:
    """None where the code is not about a permission. `what` names the thing that was refused."""
    resource = RESOURCE_OF.get(code_name)
    if resource is None:
        return None
    found = click.get_current_context(silent=True)
    session = found.find_object(Session) if found is not None else None
    principal = principal_of(session.properties) if session is not None else "User:NAME"
    message = f"{what}: {said}" if what else said
    path = found.command_path.partition(" ")[2] if found is not None else ""
    operations = _operations(path, resource)
    if not operations:
        return CliError(message, cause=f"no ACL allows it to {principal}.", code=Exit.DENIED)
    name = _name(found, resource, what)
    thing = f"{resource} {name}".strip() if resource != "cluster" else "the cluster"
    return CliError(
        message,
        cause=f"no ACL allows {principal} the operation {' and '.join(operations)} on {thing}.",
        attempt=f"as an administrator: {acl_command(principal, operations, resource, name)}",
        code=Exit.DENIED,
    )


def _operations(path: str, resource: str) -> tuple[str, ...]:
    words = path.split()
    for length in range(len(words), 0, -1):
        table = OPERATIONS.get(" ".join(words[:length]), {})
        if resource in table:
            return table[resource]
    return ()


def _name(found: click.Context | None, resource: str, what: str) -> str:
    """The name that the command was given; of several, the one that the refusal is about."""
    for parameter in _NAMED_BY.get(resource, ()):
        value = found.params.get(parameter) if found is not None else None
        if isinstance(value, str):
            return value
        if isinstance(value, tuple) and value:
            return next((name for name in value if f"'{name}'" in what), str(value[0]))
    return ""
