"""`tidelog schema import`: schemas from a directory or another registry, with their ids kept."""

from pathlib import Path
from typing import Any

import click

from tidelog.cli.exits import CliError, Exit
from tidelog.cli.output import print_json
from tidelog.cli.schema.connection import explained, for_person, registry, registry_options
from tidelog.cli.schema.moving.directory import read_directory
from tidelog.cli.schema.moving.exported import Exported
from tidelog.cli.schema.moving.plan import ImportPlan, plan_import
from tidelog.cli.schema.moving.reading import read_registry
from tidelog.cli.schema.moving.writing import carry_out
from tidelog.cli.schema.progress import counting
from tidelog.cli.session import Session, pass_session

SHOWN_CONFLICTS = 20


@click.command("import")
@click.argument("source", metavar="DIRECTORY|URL")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--deleted", is_flag=True, help="From a URL: take soft-deleted versions too.")
@click.option("--skip-configs", is_flag=True, help="Leave compatibility levels as they are.")
@click.option("--global-config", is_flag=True, help="Take the registry-wide compatibility level too.")
@registry_options
@pass_session
def import_(
    session: Session,
    source: str,
    dry_run: bool,
    deleted: bool,
    skip_configs: bool,
    global_config: bool,
    registry_url: str | None,
) -> None:
    """Import schemas from a directory of `tidelog schema export`, or from another registry by its URL.

    Ids and versions stay as they are, so that records remain readable. An import that was interrupted can be
    repeated: what is there already is left alone, but for versions that the source has soft-deleted since.
    Where an id belongs to another schema already, nothing is imported.

    \b
    tidelog schema import schemas/ --dry-run
    tidelog schema import http://user:password@old-registry:8081
    """
    exported = _source(session, source, deleted)
    with registry(session, registry_url) as client:
        plan = plan_import(client, exported)
        _refuse_conflicts(plan)
        configs: list[str] = []
        if not dry_run:
            with counting("schemas registered", len(plan.to_register)) as progress:
                configs = carry_out(
                    client,
                    exported,
                    plan,
                    progress,
                    with_configs=not skip_configs,
                    with_global=global_config,
                )
    _report(session, plan, configs, dry_run=dry_run)


def _source(session: Session, source: str, deleted: bool) -> Exported:
    if "://" not in source:
        return read_directory(Path(source))
    from tidelog.blocking.registry.client import RegistryClient
    from tidelog.blocking.registry.options import BadRegistryOption, options_of_url

    try:
        options = for_person(options_of_url(source), session)
    except BadRegistryOption as error:
        raise CliError(f"{error}.", code=Exit.USAGE) from error
    with explained(options), RegistryClient(options) as client, counting("schemas read") as progress:
        return read_registry(client, deleted=deleted, progress=progress)


def _refuse_conflicts(plan: ImportPlan) -> None:
    if not plan.conflicts:
        return
    shown = plan.conflicts[:SHOWN_CONFLICTS]
    more = len(plan.conflicts) - len(shown)
    raise CliError(
        "Nothing was imported. " + " ".join(shown) + (f" And {more} more." if more else ""),
        cause="the registry has schemas of its own; ids cannot be kept where they are taken.",
        attempt="an empty registry, or a context of its own: --registry URL/contexts/.NAME",
        code=Exit.EXISTS,
    )


def _report(session: Session, plan: ImportPlan, configs: list[str], *, dry_run: bool) -> None:
    if session.json:
        facts: dict[str, Any] = {
            "dry_run": dry_run,
            "registered": [
                {"subject": one.place.subject, "version": one.place.version, "id": one.id}
                for one in plan.to_register
            ],
            "deleted": [
                {"subject": one.place.subject, "version": one.place.version} for one in plan.to_delete
            ],
            "present": len(plan.present),
            "configs": configs,
        }
        print_json(facts)
        return
    if dry_run:
        for one in plan.to_register:
            print(f"{one.place}, id {one.id}: would be registered.")
        for one in plan.to_delete:
            print(f"{one.place}, id {one.id}: would be soft-deleted, as at the source.")
    done = "would be registered" if dry_run else "registered"
    print(f"{len(plan.to_register)} versions {done}, {len(plan.present)} were there already.")
    if plan.to_delete:
        deleted = "would be soft-deleted" if dry_run else "soft-deleted"
        print(f"{len(plan.to_delete)} versions {deleted}, as at the source.")
    if configs:
        print(f"Compatibility set for {', '.join(configs[:SHOWN_CONFLICTS])}.")
