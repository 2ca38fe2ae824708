"""What a command says that was refused for want of a permission."""

import shlex

import click
import pytest
from confluent_kafka import KafkaError

from tidelog.base.errors import ErrorCode
from tidelog.cli.connection import as_cli_error
from tidelog.cli.denials import OPERATIONS
from tidelog.cli.direct.refusals import refusal
from tidelog.cli.exits import Exit
from tidelog.cli.main import COMMANDS, cli
from tidelog.cli.session import Session
from tidelog.clients.permissions import acl_command
from tidelog.security.acls.vocabulary import OPERATIONS_ON, Operation, ResourceType

ANN = {"security.protocol": "sasl_ssl", "sasl.username": "ann"}


def running(session: Session, *path: str, **params: object) -> click.Context:
    found = click.Context(cli, info_name="tidelog", obj=session)
    for name in path:
        group = found.command
        assert isinstance(group, click.Group)
        command = group.get_command(found, name)
        assert command is not None
        found = click.Context(command, parent=found, info_name=name)
    found.params = dict(params)
    return found


def test_the_permission_and_the_command_that_grants_it() -> None:
    session = Session("a:1", properties=ANN)
    with running(session, "topic", "delete", names=("orders", "old orders")):
        error = as_cli_error(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), session, "Topic 'old orders'")
    assert error.code is Exit.DENIED
    assert error.cause == "no ACL allows User:ann the operation Delete on topic old orders."
    assert error.attempt == (
        "as an administrator: tidelog acl add --principal User:ann --operation delete --topic 'old orders'"
    )


def test_the_cluster_has_no_name() -> None:
    with running(Session("a:1", properties=ANN), "cluster", "elect-leaders"):
        error = refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, "Electing leaders")
    assert error.code is Exit.DENIED
    assert error.attempt == (
        "as an administrator: tidelog acl add --principal User:ann --operation alter --cluster"
    )


def test_other_refusals_stay() -> None:
    error = refusal(ErrorCode.POLICY_VIOLATION, "no", "Topic 'a'", attempt="another")
    assert (error.code, error.attempt) == (Exit.REFUSED, "another")


@pytest.mark.parametrize("path", OPERATIONS)
def test_the_table_names_commands_and_operations_that_exist(path: str) -> None:
    first = path.split(maxsplit=1)[0]
    if first in COMMANDS:
        running(Session(), *path.split())
    for resource, operations in OPERATIONS[path].items():
        kind = ResourceType[resource.upper().replace("-", "_")]
        names = {_camel(operation) for operation in OPERATIONS_ON[kind]}
        assert set(operations) <= names


def _camel(operation: Operation) -> str:
    return "".join(word.capitalize() for word in operation.name.split("_"))


@pytest.mark.parametrize("path", OPERATIONS)
def test_the_recommended_command_is_one_that_exists(path: str) -> None:
    for resource, operations in OPERATIONS[path].items():
        if resource == "delegation-token":
            continue
        words = shlex.split(acl_command("User:ann", operations, resource, "a name"))[1:]
        group = cli.get_command(click.Context(cli), words[0])
        assert isinstance(group, click.Group)
        command = group.get_command(click.Context(group), words[1])
        assert command is not None
        command.make_context(words[1], words[2:], obj=Session("a:1"))
