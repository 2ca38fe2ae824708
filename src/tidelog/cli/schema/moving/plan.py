"""What an import has to do in a registry: what is there already, what is missing, what stands in the way."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tidelog.cli.schema.moving.exported import Exported, ExportedVersion, in_order
from tidelog.cli.schema.moving.own_versions import OwnVersions
from tidelog.registry.subjects import context_of, scope_of_context

if TYPE_CHECKING:
    from tidelog.blocking.registry.client import RegistryClient


class ImportPlan(NamedTuple):
    to_register: list[ExportedVersion]
    """In the order in which they can be registered."""
    present: list[ExportedVersion]
    to_delete: list[ExportedVersion]
    """Of both, those that are soft-deleted at the source, and here will not be; in the same order."""
    conflicts: list[str]
    """Sentences; with any of them nothing is imported."""
    occupied: set[str]
    """Subjects that have versions already."""


def plan_import(client: "RegistryClient", exported: Exported) -> ImportPlan:
    own = OwnVersions(client)
    known = {
        subject.name: set(own.numbers_there(subject.name, deleted=True)) for subject in exported.subjects
    }
    living = {
        subject.name: set(own.numbers_there(subject.name))
        for subject in exported.subjects
        if any(one.is_deleted for one in subject.versions)
    }
    plan = ImportPlan([], [], [], [], {name for name, versions in known.items() if versions})
    checked: dict[tuple[str, int], str | None] = {}
    for one in in_order(exported):
        is_there = one.place.version in known[one.place.subject]
        is_to_delete = one.is_deleted and (not is_there or one.place.version in living[one.place.subject])
        alias = own.alias(one.place.subject)
        if alias and (is_to_delete or not is_there):
            plan.conflicts.append(
                f"{one.place}: here its subject is an alias of '{alias}'. Remove the alias."
            )
            continue
        if is_to_delete:
            plan.to_delete.append(one)
        if is_there:
            _compare(client, own, one, plan)
            continue
        # The same id in two subjects is one schema, so that it is asked for once.
        place = (context_of(one.place.subject), one.id)
        if place not in checked:
            checked[place] = _other_text(client, one)
        if checked[place] is not None:
            plan.conflicts.append(
                f"{one.place}: id {one.id} belongs to another schema in this registry already."
            )
        plan.to_register.append(one)
    return plan


def _compare(client: "RegistryClient", own: OwnVersions, one: ExportedVersion, plan: ImportPlan) -> None:
    there = own.version(one.place, deleted=True)
    if there.id == one.id and (there.schema.text == one.schema.text or _is_known(client, one)):
        plan.present.append(one)
    elif there.id == one.id:
        plan.conflicts.append(f"{one.place}: another schema is there already under the same id {one.id}.")
    else:
        plan.conflicts.append(f"{one.place}: it is there already with id {there.id} instead of {one.id}.")


def _is_known(client: "RegistryClient", one: ExportedVersion) -> bool:
    """Registries write one schema in different ways, so that the registry itself has to compare."""
    found = client.lookup(one.place.subject, one.schema, deleted=True)
    return found is not None and found.id == one.id


def _other_text(client: "RegistryClient", one: ExportedVersion) -> str | None:
    """The text that the id stands for already, if it is another."""
    from tidelog.blocking.registry.errors import RegistryRefused

    try:
        # With a subject of the default context, registries would look in the others, too.
        there = client.schema(one.id, subject=scope_of_context(context_of(one.place.subject)))
    except RegistryRefused as refusal:
        if refusal.is_not_found:
            return None
        raise
    if there.type is one.schema.type and _squeezed(there.text) == _squeezed(one.schema.text):
        return None
    return there.text


def _squeezed(text: str) -> str:
    return "".join(text.split())


def subjects_of(plan: ImportPlan) -> Iterator[str]:
    yield from dict.fromkeys(one.place.subject for one in plan.to_register)
