"""Schemas of a named context that refer to others: their references mean that context."""

import json
from typing import Any

import pytest

from tests.rigs.local_registry import LocalRegistry, record
from tests.rigs.registry_client import client_of
from tidelog.blocking.registry.errors import RegistryRefused
from tidelog.cli.schema.check import by_versions
from tidelog.cli.schema.files import SchemaFile, WantedReference
from tidelog.cli.schema.moving.exported import Place
from tidelog.cli.schema.moving.plan import plan_import
from tidelog.cli.schema.moving.reading import read_registry
from tidelog.cli.schema.moving.writing import carry_out
from tidelog.cli.schema.register import register_with
from tidelog.registry.compatibility import Level
from tidelog.registry.schema import SchemaType

CUSTOMER = {"type": "record", "name": "Customer", "fields": [{"name": "home", "type": "Address"}]}
ADDRESS_1 = [{"name": "Address", "subject": "address-value", "version": 1}]
STAGED = ":.staging:customers-value"


@pytest.fixture
def staging() -> LocalRegistry:
    """The default context has other schemas under the same name."""
    made = LocalRegistry()
    made.register("address-value", record("wrong", name="Address"))
    made.register(":.staging:address-value", record("zip", name="Address"))
    made.register(STAGED, CUSTOMER, references=ADDRESS_1)
    return made


def places(exported: Any) -> list[Place]:
    return [one.place for one in exported.versions()]


def test_an_export_follows_references_within_their_context(staging: LocalRegistry) -> None:
    exported = read_registry(client_of(staging), [STAGED])
    assert places(exported) == [Place(":.staging:address-value", 1), Place(STAGED, 1)]
    inside = read_registry(client_of(staging, "/contexts/.staging"), ["customers-value"])
    assert places(inside) == [Place("address-value", 1), Place("customers-value", 1)]


def test_an_import_registers_them_in_their_context(staging: LocalRegistry) -> None:
    exported, target = read_registry(client_of(staging)), LocalRegistry()
    carry_out(client_of(target), exported, plan_import(client_of(target), exported))
    assert places(read_registry(client_of(target))) == places(exported)
    moved, into = (
        read_registry(client_of(staging, "/contexts/.staging"), ["customers-value"]),
        LocalRegistry(),
    )
    client = client_of(into, "/contexts/.old")
    carry_out(client, moved, plan_import(client, moved))
    assert into.get("/subjects").json == [":.old:address-value", ":.old:customers-value"]


def test_an_id_of_another_context_is_no_conflict() -> None:
    source, target = LocalRegistry(), LocalRegistry()
    for subject in ("orders-value", ":.staging:orders-value"):
        source.register(subject, record("a"))
    target.register(":.old:orders-value", record("b"))
    assert plan_import(client_of(target), read_registry(client_of(source))).conflicts == []
    target.register(":.staging:others-value", record("b"))
    target.register("others-value", record("b"))
    assert plan_import(client_of(target), read_registry(client_of(source))).conflicts == [
        f"'{subject}' version 1: id 1 belongs to another schema in this registry already."
        for subject in (":.staging:orders-value", "orders-value")
    ]


def test_what_a_schema_refers_to_is_read_in_its_context(staging: LocalRegistry) -> None:
    for client, subject in (
        (client_of(staging), STAGED),
        (client_of(staging, "/contexts/.staging"), "customers-value"),
    ):
        found = client.version(subject)
        [address] = client.dependencies(found.schema, found.subject)
        assert "zip" in address.text
        [address] = client.dependencies(client.schema(found.id, subject=subject), subject)
        assert "zip" in address.text


def test_a_version_of_another_context_is_none_of_the_subject(staging: LocalRegistry) -> None:
    client, customers = client_of(staging), "customers-value"
    schema = client.version(STAGED).schema
    assert staging.get(f"/subjects/{customers}/versions/1").status == 200
    with pytest.raises(RegistryRefused) as caught:
        client.version(customers)
    assert caught.value.is_not_found
    assert client.lookup(customers, schema) is None
    assert client.lookup(STAGED, schema) is not None
    assert client_of(staging, "/contexts/.staging").lookup(customers, schema) is not None


def file(schema: Any, name: str = "customer") -> SchemaFile:
    return SchemaFile(name, SchemaType.AVRO, json.dumps(schema))


def test_a_check_reads_references_in_the_context_of_the_subject(staging: LocalRegistry) -> None:
    wanted = [WantedReference("Address", "address-value", None)]
    new = {**CUSTOMER, "fields": [{"name": "home", "type": "Address"}, {"name": "n", "type": "int"}]}
    verdict = by_versions(client_of(staging), STAGED, file(new), wanted, [], Level.BACKWARD, None)
    assert [fault.rule for fault in verdict.found.faults] == ["READER_FIELD_MISSING_DEFAULT_VALUE"]


def test_a_registration_puts_files_that_it_needs_into_the_context_of_the_subject() -> None:
    registry = LocalRegistry()
    client = client_of(registry)
    address = file(record("zip", name="Address"), "address.avsc")
    made = register_with(client, STAGED, file(CUSTOMER), [], [address])
    assert [one.subject for one in made] == [":.staging:Address", STAGED]
    again = {**CUSTOMER, "doc": "again"}
    wanted = [WantedReference("Address", "Address", None)]
    assert register_with(client, STAGED, file(again), wanted, [])[0].version == 2
