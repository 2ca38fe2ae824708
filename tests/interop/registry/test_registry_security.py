"""The registry of a secured broker: TLS, passwords of users, tokens, and the permissions of topics."""

import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from tests.rigs.identity_provider import AUDIENCE, ISSUER, IdentityProvider
from tidelog.testing import Broker, Security

USERS = {"ann": "ann-secret", "bob": "bob-secret"}
ACLS = [
    ("ann", "WRITE", "TOPIC", "orders"),
    ("bob", "READ", "TOPIC", "orders"),
    ("robot", "ALL", "TOPIC", "robots*"),
]
PROVIDER = IdentityProvider()
STRING = Schema('"string"', "AVRO")


class Secured(NamedTuple):
    broker: Broker
    ca: str

    def client(self, user: str, password: str) -> SchemaRegistryClient:
        return SchemaRegistryClient(
            {
                "url": self.broker.schema_registry_url,
                "ssl.ca.location": self.ca,
                "basic.auth.user.info": f"{user}:{password}",
                "max.retries": 0,
            }
        )

    def connect(self) -> http.client.HTTPSConnection:
        address = self.broker.schema_registry_url.removeprefix("https://")
        return http.client.HTTPSConnection(address, context=ssl.create_default_context(cafile=self.ca))

    def get(self, path: str, authorization: str | None) -> tuple[int, Any]:
        connection = self.connect()
        connection.request("GET", path, headers={"Authorization": authorization} if authorization else {})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    with PROVIDER.serve() as keys:
        settings = {
            "schema.registry.authentication": "BASIC,BEARER",
            "schema.registry.security.protocol": "SSL",
            "sasl.oauthbearer.jwks.endpoint.url": keys,
            "sasl.oauthbearer.expected.issuer": ISSUER,
            "sasl.oauthbearer.expected.audience": AUDIENCE,
        }
        with Broker(settings=settings, security=Security(users=USERS, acls=ACLS)) as broker:
            yield Secured(broker, broker.client_config("ann")["ssl.ca.location"])


def test_a_producer_registers_and_a_consumer_reads(secured: Secured) -> None:
    schema_id = secured.client("ann", USERS["ann"]).register_schema("orders-value", STRING)
    bob = secured.client("bob", USERS["bob"])
    assert bob.get_schema(schema_id).schema_str == '"string"'
    assert bob.get_subjects() == ["orders-value"]
    with pytest.raises(SchemaRegistryError) as refused:
        bob.register_schema("orders-value", Schema('"int"', "AVRO"))
    assert (refused.value.http_status_code, refused.value.error_code) == (403, 40301)
    assert "User:bob is denied operation Write" in str(refused.value)


def test_a_token_is_a_user_too(secured: Secured) -> None:
    assert secured.get("/subjects", f"Bearer {PROVIDER.token('robot')}") == (200, [])
    assert secured.get("/subjects", f"Bearer {PROVIDER.token('robot', seconds=-600)}")[0] == 401


@pytest.mark.parametrize(
    "authorization", [None, "Basic YW5uOndyb25n", "Basic bm9ib2R5Onh4", "Bearer nonsense", "Digest x"]
)
def test_others_are_refused(secured: Secured, authorization: str | None) -> None:
    status, body = secured.get("/subjects", authorization)
    assert (status, body["error_code"]) == (401, 40101)
