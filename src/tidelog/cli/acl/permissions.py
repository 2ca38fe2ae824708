"""Operations and types of resources as people write them, and the options that name permissions of roles."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import click

from tidelog.cli.acl.patterns import PatternParameter, parse_pattern
from tidelog.metadata.image.security import Grant
from tidelog.security.acls.vocabulary import (
    CLUSTER_NAME,
    OPERATIONS_ON,
    Operation,
    PatternType,
    ResourceType,
)

Command = TypeVar("Command", bound=Callable[..., Any])

_TOPIC, _GROUP, _TRANSACTIONAL_ID = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
_ON_NAMES: tuple[tuple[str, ResourceType, Operation, str], ...] = (
    ("--read", _TOPIC, Operation.READ, "Read from these topics."),
    ("--write", _TOPIC, Operation.WRITE, "Write to these topics."),
    ("--create", _TOPIC, Operation.CREATE, "Create these topics."),
    ("--describe", _TOPIC, Operation.DESCRIBE, "See these topics; --read and --write include it."),
    ("--group", _GROUP, Operation.READ, "Be a member of these groups, and commit offsets."),
    ("--transactional-id", _TRANSACTIONAL_ID, Operation.WRITE, "Use these transactional ids."),
)


def permission_options(command: Command) -> Command:
    """Adds the options; the command gets `grants`."""

    @wraps(command)
    def with_grants(*args: Any, **options: Any) -> Any:
        grants = [
            Grant(kind, pattern, name, (operation,))
            for option, kind, operation, _ in _ON_NAMES
            for pattern, name in options.pop(option[2:].replace("-", "_"))
        ]
        grants += [
            Grant(ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME, (operation,))
            for operation in options.pop("cluster")
        ]
        return command(*args, grants=merged([*grants, *options.pop("permission")]), **options)

    made: Any = click.option(
        "--permission",
        multiple=True,
        type=_PermissionParameter(),
        metavar="OPERATION:TYPE:PATTERN",
        help="Anything else, such as alter-configs:topic:orders.* or delete:group:analyst-*. Repeatable.",
    )(with_grants)
    made = click.option(
        "--cluster",
        multiple=True,
        type=OperationParameter(ResourceType.CLUSTER),
        metavar="OPERATION",
        help="Do this with the cluster, such as describe or alter. Repeatable.",
    )(made)
    for option, _, _, text in reversed(_ON_NAMES):
        made = click.option(
            option, multiple=True, type=PatternParameter(), metavar="PATTERN", help=f"{text} Repeatable."
        )(made)
    return made  # type: ignore[no-any-return]


def merged(grants: Iterable[Grant]) -> list[Grant]:
    """One grant for each resource pattern, with all its operations."""
    operations: dict[tuple[ResourceType, PatternType, str], dict[Operation, None]] = {}
    for grant in grants:
        pattern = grant.resource_type, grant.pattern_type, grant.resource_name
        operations.setdefault(pattern, {}).update(dict.fromkeys(grant.operations))
    return [Grant(*pattern, tuple(allowed)) for pattern, allowed in operations.items()]


def word(value: Operation | ResourceType) -> str:
    """`describe-configs`, `transactional-id`: as options take them."""
    return value.name.lower().replace("_", "-")


def type_of(text: str) -> ResourceType:
    kind = {_plain(kind.name): kind for kind in OPERATIONS_ON}.get(_plain(text))
    if kind is None:
        raise ValueError(f"'{text}' is no type of resource; there are {', '.join(map(word, OPERATIONS_ON))}.")
    return kind


def operation_of(text: str, kind: ResourceType | None = None) -> Operation:
    """Reads `describe-configs`, `DescribeConfigs` and `DESCRIBE_CONFIGS`.

    Raises ValueError for an operation that does not exist on the type of resource.
    """
    possible = [Operation.ALL, *(tuple(Operation)[3:] if kind is None else OPERATIONS_ON[kind])]
    operation = {_plain(operation.name): operation for operation in possible}.get(_plain(text))
    if operation is None:
        on = "" if kind is None else f" on a {word(kind)}"
        raise ValueError(f"'{text}' is no operation{on}; there are {', '.join(map(word, possible))}.")
    return operation


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "")


class OperationParameter(click.ParamType[Operation]):
    name = "operation"

    def __init__(self, kind: ResourceType | None = None) -> None:
        self._kind = kind

    def convert(
        self, value: object, parameter: click.Parameter | None, ctx: click.Context | None
    ) -> Operation:
        try:
            return operation_of(str(value), self._kind)
        except ValueError as error:
            self.fail(str(error), parameter, ctx)


class TypeParameter(click.ParamType[ResourceType]):
    name = "type"

    def convert(
        self, value: object, parameter: click.Parameter | None, ctx: click.Context | None
    ) -> ResourceType:
        try:
            return type_of(str(value))
        except ValueError as error:
            self.fail(str(error), parameter, ctx)


class _PermissionParameter(click.ParamType[Grant]):
    name = "permission"

    def convert(self, value: object, parameter: click.Parameter | None, ctx: click.Context | None) -> Grant:
        operation, colon, rest = str(value).partition(":")
        kind, other_colon, pattern = rest.partition(":")
        if not colon or not other_colon:
            self.fail(f"'{value}' is not OPERATION:TYPE:PATTERN, such as read:topic:orders.*", parameter, ctx)
        try:
            on = type_of(kind)
            return Grant(on, *parse_pattern(pattern), (operation_of(operation, on),))
        except ValueError as error:
            self.fail(str(error), parameter, ctx)
