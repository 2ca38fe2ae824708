"""`tidelog schema get`: the text of a schema, by subject and version or by id."""

import json

import click

from tidelog.cli.output import print_json
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.names import complete_subject
from tidelog.cli.session import Session, pass_session
from tidelog.registry.schema import Schema, SchemaType


@click.command()
@click.argument("subject", required=False, shell_complete=complete_subject)
@click.argument("version", default="latest")
@click.option("--id", "schema_id", metavar="ID", help="The schema's id, or its GUID, instead of a subject.")
@click.option("--raw", is_flag=True, help="The text as the registry has it, without indents.")
@click.option("--deleted", is_flag=True, help="Show a soft-deleted version too.")
@registry_options
@pass_session
def get(
    session: Session,
    subject: str | None,
    version: str,
    schema_id: str | None,
    raw: bool,
    deleted: bool,
    registry_url: str | None,
) -> None:
    """Print a schema: the latest version of a subject, a given one, or a schema by its id.

    \b
    tidelog schema get orders-value
    tidelog schema get orders-value 3 --json    # with its id and references
    tidelog schema get --id 17
    """
    if (subject is None) == (schema_id is None):
        raise click.UsageError("Give a subject, or --id.")
    facts: dict[str, object]
    with registry(session, registry_url) as client:
        if schema_id is not None:
            key = int(schema_id) if schema_id.isdigit() else schema_id
            schema = client.schema(key)
            facts = {"id": key} if isinstance(key, int) else {"guid": key}
        else:
            if deleted and version == "latest":  # which a registry takes as the latest that is not deleted
                version = str(client.versions(subject or "", deleted=True)[-1])
            found = client.version(subject or "", version, deleted=deleted)
            schema = found.schema
            facts = {"subject": found.subject, "version": found.version, "id": found.id}
            if found.guid is not None:
                facts["guid"] = found.guid
    if session.json:
        print_json(facts | schema_json(schema))
    else:
        print(schema.text if raw else readable(schema).rstrip("\n"))


def schema_json(schema: Schema) -> dict[str, object]:
    made: dict[str, object] = {
        "type": schema.type.value,
        "references": [reference._asdict() for reference in schema.references],
        "schema": schema.text,
    }
    if schema.metadata is not None:
        made["metadata"] = schema.metadata
    if schema.rule_set is not None:
        made["rule_set"] = schema.rule_set
    return made


def readable(schema: Schema) -> str:
    """JSON with indents; Protobuf as it is."""
    if schema.type is SchemaType.PROTOBUF:
        return schema.text
    try:
        return json.dumps(json.loads(schema.text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return schema.text
