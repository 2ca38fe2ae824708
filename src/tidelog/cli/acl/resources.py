"""The options that choose resources, shared by the commands of `tidelog acl`."""

import shlex
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from tidelog.cli.acl.patterns import PatternParameter, pattern_text
from tidelog.security.acls.vocabulary import CLUSTER_NAME, PatternType, ResourceType

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = {
    "--topic": ResourceType.TOPIC,
    "--group": ResourceType.GROUP,
    "--transactional-id": ResourceType.TRANSACTIONAL_ID,
    "--delegation-token": ResourceType.DELEGATION_TOKEN,
    "--user": ResourceType.USER,
}


class ResourcePattern(NamedTuple):
    resource_type: ResourceType
    pattern_type: PatternType
    name: str


def resource_options(command: Command) -> Command:
    """Adds the options; the command gets `resources`."""

    @wraps(command)
    def with_resources(*args: Any, **options: Any) -> Any:
        resources = [
            ResourcePattern(kind, *pattern)
            for option, kind in _OPTIONS.items()
            for pattern in options.pop(option[2:].replace("-", "_"))
        ]
        if options.pop("cluster"):
            resources.append(ResourcePattern(ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME))
        return command(*args, resources=resources, **options)

    made: Any = click.option("--cluster", is_flag=True, help="The cluster.")(with_resources)
    for option in reversed(_OPTIONS):
        what = option[2:].replace("-", " ")
        made = click.option(
            option,
            multiple=True,
            type=PatternParameter(),
            metavar="PATTERN",
            help=f"The {what} with this name; NAME* for all that begin with NAME, * for all. Repeatable.",
        )(made)
    return made  # type: ignore[no-any-return]


def option_for(resource: ResourcePattern) -> str:
    """The option that chooses the resource, for a command to try."""
    if resource.resource_type is ResourceType.CLUSTER:
        return "--cluster"
    option = next(option for option, kind in _OPTIONS.items() if kind is resource.resource_type)
    return f"{option} {shlex.quote(pattern_text(resource.pattern_type, resource.name))}"
