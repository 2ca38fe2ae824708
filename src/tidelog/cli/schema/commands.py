"""`tidelog schema`: the list of its commands; each has a file of its own."""

import click

from tidelog.cli.full_help import FullHelpGroup
from tidelog.cli.schema.check import check
from tidelog.cli.schema.delete import delete
from tidelog.cli.schema.diff import diff
from tidelog.cli.schema.export import export
from tidelog.cli.schema.get import get
from tidelog.cli.schema.import_ import import_
from tidelog.cli.schema.listing import list_
from tidelog.cli.schema.register import register


@click.group(cls=FullHelpGroup)
def schema() -> None:
    """Register, compare, check and move schemas.

    The commands talk to any registry with Confluent's REST API; each broker of Tidelog serves one. They use,
    strongest first: --registry, -X schema.registry.url, the context of --context, the variable
    TIDELOG_SCHEMA_REGISTRY, the current context, and port 8081 of the brokers.
    """


for command in (register, get, list_, check, diff, delete, export, import_):
    schema.add_command(command)
