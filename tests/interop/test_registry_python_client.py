"""confluent-kafka's registry client with our registry: its calls for schemas, subjects, configs and modes."""

import asyncio
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka.schema_registry import (
    AsyncSchemaRegistryClient,
    ConfigCompatibilityLevel,
    Metadata,
    MetadataProperties,
    Schema,
    SchemaReference,
    SchemaRegistryClient,
    SchemaRegistryError,
    ServerConfig,
)
from confluent_kafka.schema_registry.avro import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AvroDeserializer,
    AvroSerializer,
)
from confluent_kafka.serialization import MessageField, SerializationContext

from tidelog.testing import Broker

_numbers = itertools.count()
TEXT = '{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}'
LONGER = TEXT.replace("}},", '},"b":{"type":"number"}},')


@pytest.fixture(scope="module")
def testing_broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def registry(testing_broker: Broker) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": testing_broker.schema_registry_url}) as opened:
        yield opened


@pytest.fixture
def subject() -> str:
    return f"orders-{next(_numbers)}-value"


def refused(call: Any, *arguments: Any, **named: Any) -> int:
    """The registry's error code."""
    with pytest.raises(SchemaRegistryError) as error:
        call(*arguments, **named)
    assert error.value.error_message
    return int(error.value.error_code)


def test_schemas_are_found_by_id_guid_subject_version_and_content(
    registry: SchemaRegistryClient, subject: str
) -> None:
    registered = registry.register_schema_full_response(subject, Schema(TEXT, "JSON"))
    second = registry.register_schema(subject, Schema(LONGER, "JSON"))
    assert registry.register_schema(subject, Schema(TEXT, "JSON")) == registered.schema_id
    registry.clear_caches()
    assert registry.get_schema(registered.schema_id).schema_str == TEXT
    registry.clear_caches()
    assert registry.get_schema_by_guid(registered.guid).schema_str == TEXT
    assert registry.get_latest_version(subject).schema_id == second
    assert registry.get_version(subject, 1).schema.schema_str == TEXT
    assert registry.get_versions(subject) == [1, 2]
    found = registry.lookup_schema(subject, Schema(LONGER, "JSON"))
    assert (found.version, found.schema_id, found.subject) == (2, second, subject)
    assert subject in registry.get_subjects()
    assert registry.get_subjects(subject_prefix=subject) == [subject]
    assert registry.get_subjects_by_schema_id(second) == [subject]
    assert [(each.subject, each.version) for each in registry.get_schema_versions(second)] == [(subject, 2)]
    assert set(registry.get_schema_types()) == {"AVRO", "JSON", "PROTOBUF"}
    assert registry.get_contexts() == ["."]


def test_what_is_not_there_has_confluents_codes(registry: SchemaRegistryClient, subject: str) -> None:
    assert refused(registry.get_schema, 999_999) == 40403
    assert refused(registry.get_latest_version, subject) == 40401
    assert refused(registry.get_versions, subject) == 40401
    registry.register_schema(subject, Schema(TEXT, "JSON"))
    assert refused(registry.get_version, subject, 7) == 40402
    assert refused(registry.lookup_schema, subject, Schema(LONGER, "JSON")) == 40403
    assert refused(registry.get_compatibility, subject) == 40408
    assert refused(registry.register_schema, subject, Schema('{"type": "nonsense"}', "JSON")) == 42201
    assert refused(registry.register_schema, subject, Schema("no json", "AVRO")) == 42201
    assert refused(registry.register_schema, subject, Schema("message {", "PROTOBUF")) == 42201
    assert refused(registry.register_schema, subject, Schema("{}", "XML")) == 42201
    missing = Schema('{"$ref": "x.json"}', "JSON", [SchemaReference("x.json", "nowhere", 1)])
    assert refused(registry.register_schema, subject, missing) == 42201


def test_compatibility_is_tested_configured_and_kept(registry: SchemaRegistryClient, subject: str) -> None:
    registry.register_schema(subject, Schema(TEXT, "JSON"))
    number = Schema(TEXT.replace("string", "number"), "JSON")
    assert registry.get_compatibility() == "BACKWARD"
    assert registry.test_compatibility(subject, Schema(LONGER, "JSON"))
    assert not registry.test_compatibility(subject, number)
    assert refused(registry.register_schema, subject, number) == 40901
    for level in ("FORWARD", "FULL_TRANSITIVE", "NONE"):
        assert registry.set_compatibility(subject, level) == {"compatibility": level}
        assert registry.get_compatibility(subject) == level
    assert registry.test_compatibility_all_versions(subject, number)
    assert registry.register_schema(subject, number) > 0
    assert refused(registry.set_compatibility, subject, "SOMETIMES") == 42203
    registry.delete_config(subject)
    assert refused(registry.get_compatibility, subject) == 40408


def test_reasons_of_an_incompatibility_name_rule_and_place(
    registry: SchemaRegistryClient, subject: str
) -> None:
    registry.register_schema(subject, Schema(LONGER, "JSON"))
    with pytest.raises(SchemaRegistryError) as error:
        registry.register_schema(subject, Schema(TEXT, "JSON"))
    assert "PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL" in error.value.error_message
    assert "'#/properties/b'" in error.value.error_message
    assert "the new schema" in error.value.error_message.lower()


def test_configs_with_more_than_a_level(registry: SchemaRegistryClient, subject: str) -> None:
    config = ServerConfig(compatibility=ConfigCompatibilityLevel.FULL, compatibility_group="major")
    registry.set_config(subject, config)
    got = registry.get_config(subject)
    assert got.compatibility_level == "FULL"
    assert got.compatibility_group == "major"


def test_versions_are_deleted_softly_and_for_good(registry: SchemaRegistryClient, subject: str) -> None:
    mine = TEXT.replace('"a"', '"only here"')  # an id lives as long as any subject has it
    first = registry.register_schema(subject, Schema(mine, "JSON"))
    registry.register_schema(subject, Schema(mine.replace("}},", '},"b":{}},'), "JSON"))
    assert refused(registry.delete_version, subject, 1, permanent=True) == 40407
    registry.delete_version(subject, 1)
    assert registry.get_versions(subject) == [2]
    assert registry.get_versions(subject, deleted=True) == [1, 2]
    registry.clear_caches()
    assert registry.get_schema(first).schema_str == mine
    registry.delete_version(subject, 1, permanent=True)
    assert registry.get_versions(subject, deleted=True) == [2]
    registry.clear_caches()
    assert refused(registry.get_schema, first) == 40403


def test_subjects_are_deleted_softly_and_for_good(registry: SchemaRegistryClient, subject: str) -> None:
    registry.register_schema(subject, Schema(TEXT, "JSON"))
    assert registry.delete_subject(subject) == [1]
    assert subject not in registry.get_subjects()
    assert subject in registry.get_subjects(deleted=True)
    assert registry.delete_subject(subject, permanent=True) == [1]
    assert subject not in registry.get_subjects(deleted=True)


def test_what_others_refer_to_stays(registry: SchemaRegistryClient, subject: str) -> None:
    registry.register_schema(f"{subject}-a", Schema(TEXT, "JSON"))
    referring = Schema('{"$ref":"a.json"}', "JSON", [SchemaReference("a.json", f"{subject}-a", 1)])
    by = registry.register_schema(subject, referring)
    assert registry.get_referenced_by(f"{subject}-a", 1) == [by]
    assert refused(registry.delete_subject, f"{subject}-a") == 42206
    registry.delete_subject(subject)
    registry.delete_subject(subject, permanent=True)
    assert registry.delete_subject(f"{subject}-a") == [1]


def test_modes(registry: SchemaRegistryClient, subject: str) -> None:
    assert registry.get_global_mode() == "READWRITE"
    registry.update_mode(subject, "READONLY")
    assert registry.get_mode(subject) == "READONLY"
    assert refused(registry.register_schema, subject, Schema(TEXT, "JSON")) == 42205
    registry.delete_mode(subject)
    assert registry.register_schema(subject, Schema(TEXT, "JSON")) > 0


def test_metadata_is_kept_and_found(registry: SchemaRegistryClient, subject: str) -> None:
    metadata = Metadata(tags=None, properties=MetadataProperties({"owner": "shop"}), sensitive=None)
    registry.register_schema(subject, Schema(TEXT, "JSON", metadata=metadata))
    registry.clear_caches()
    found = registry.get_latest_with_metadata(subject, {"owner": "shop"})
    assert found.version == 1
    assert found.schema.metadata.properties == metadata.properties


def test_subjects_in_contexts_are_apart(
    registry: SchemaRegistryClient, testing_broker: Broker, subject: str
) -> None:
    """Ids of a context begin at 1. A client that is in a context finds its subjects without the prefix."""
    first = registry.register_schema(f":.staging{subject}:{subject}", Schema(TEXT, "JSON"))
    assert first == 1
    assert f".staging{subject}" in registry.get_contexts()
    assert registry.get_subjects(subject_prefix=subject) == []
    url = f"{testing_broker.schema_registry_url}/contexts/.staging{subject}"
    with SchemaRegistryClient({"url": url}) as inside:
        assert inside.get_schema(1).schema_str == TEXT
        assert inside.get_latest_version(subject).schema_id == 1


def test_references_within_a_context_are_found(registry: SchemaRegistryClient, subject: str) -> None:
    """The client asks for them as the schema has them, without its context."""
    context, address = f":.staging{subject}:", f"address-{subject}"
    zipped = '{"type":"record","name":"Address","fields":[{"name":"zip","type":"string"}]}'
    text = '{"type":"record","name":"Customer","fields":[{"name":"home","type":"Address"}]}'
    registry.register_schema(f"{context}{address}", Schema(zipped, "AVRO"))
    assert registry.get_version(address, 1).subject == f"{context}{address}"
    customer = Schema(text, "AVRO", [SchemaReference("Address", address, 1)])
    how = {"subject.name.strategy": lambda *_: f"{context}{subject}"}
    place = SerializationContext("customers", MessageField.VALUE)
    value = {"home": {"zip": "12345"}}
    record = AvroSerializer(registry, customer, conf=how)(value, place)
    registry.clear_caches()
    assert AvroDeserializer(registry, conf=how)(record, place) == value
    assert registry.lookup_schema(subject, customer).subject == f"{context}{subject}"


def test_subjects_with_names_of_any_kind(registry: SchemaRegistryClient) -> None:
    for name in ("a/b", "ü ö", "shop/address.proto", "com.example.Order-value", "%41", "a+b", "a?b#c"):
        registry.register_schema(name, Schema(TEXT, "JSON"))
        assert registry.get_latest_version(name).subject == name
        assert name in registry.get_subjects()
        registry.delete_subject(name)


def test_registrations_at_the_same_time_give_one_id(testing_broker: Broker, subject: str) -> None:
    def register(_: int) -> int:
        with SchemaRegistryClient({"url": testing_broker.schema_registry_url}) as registry:
            return registry.register_schema(subject, Schema(TEXT.replace('"a"', '"same"'), "JSON"))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(register, range(16)))) == 1


def test_the_client_and_the_serializers_for_asyncio(testing_broker: Broker, subject: str) -> None:
    async def run() -> None:
        registry = AsyncSchemaRegistryClient({"url": testing_broker.schema_registry_url})
        text = '{"type":"record","name":"Tick","fields":[{"name":"number","type":"long"}]}'
        serialize = await AsyncAvroSerializer(registry, text)
        context = SerializationContext(subject.removesuffix("-value"), MessageField.VALUE)
        record = await serialize({"number": 7}, context)
        assert await (await AsyncAvroDeserializer(registry))(record, context) == {"number": 7}
        registering = (
            registry.register_schema(f"{subject}-{n % 3}", Schema(TEXT, "JSON")) for n in range(30)
        )
        assert len(set(await asyncio.gather(*registering))) == 1
        await registry.aclose()

    asyncio.run(run())
