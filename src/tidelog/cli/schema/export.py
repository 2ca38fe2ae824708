"""`tidelog schema export`: schemas as files, with a manifest that an import reads."""

from pathlib import Path

import click

from tidelog.cli.output import note, print_json
from tidelog.cli.schema.connection import registry, registry_options
from tidelog.cli.schema.moving.directory import MANIFEST, write_directory
from tidelog.cli.schema.moving.reading import read_registry
from tidelog.cli.schema.names import complete_subject
from tidelog.cli.schema.progress import counting
from tidelog.cli.session import Session, pass_session


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.argument("subjects", nargs=-1, metavar="[SUBJECT]…", shell_complete=complete_subject)
@click.option("--prefix", metavar="TEXT", help="Only subjects that start so.")
@click.option("--deleted", is_flag=True, help="Export soft-deleted versions too.")
@registry_options
@pass_session
def export(
    session: Session,
    directory: Path,
    subjects: tuple[str, ...],
    prefix: str | None,
    deleted: bool,
    registry_url: str | None,
) -> None:
    """Export schemas to a directory: a file for each, and a manifest with ids, versions and references.

    Without a subject all are exported, of every context. Versions that an exported schema refers to come
    along.

    \b
    tidelog schema export schemas/
    tidelog schema export schemas/ orders-value --registry http://old-registry:8081
    """
    with registry(session, registry_url) as client, counting("schemas read") as progress:
        exported = read_registry(client, subjects, prefix=prefix, deleted=deleted, progress=progress)
    files = write_directory(exported, directory)
    subjects_read = sum(1 for subject in exported.subjects if subject.versions)
    if session.json:
        print_json({"directory": str(directory), "subjects": subjects_read, "versions": files})
    else:
        print(f"Exported {files} versions of {subjects_read} subjects to {directory}.")
        note(f"{directory / MANIFEST} has their ids; `tidelog schema import {directory}` keeps them.")
