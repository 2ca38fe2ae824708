"""The calls that Kafka UI makes to a schema registry, in the order of its pages.

By its `SchemaRegistryService` and its description of the API (`kafka-sr-api.yaml`), which says what an answer
has to have. Kafka UI itself does not run here. Its decoding of messages is Confluent's Java client.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tidelog.testing import Broker

SUBJECT = "shop/orders-value"
PATH, CONFIG = (f"/{what}/{quote(SUBJECT, safe='')}" for what in ("subjects", "config"))
JSON = "application/json"
OLD = '{"type":"record","name":"Order","fields":[{"name":"number","type":"long"}]}'
NEW = OLD.replace("}]", '},{"name":"city","type":"string","default":""}]')
BAD = OLD.replace("number", "amount")


class KafkaUi:
    def __init__(self, url: str) -> None:
        self._url = url

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": JSON, **({"Content-Type": JSON} if data else {})}
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.headers["Content-Type"].startswith(JSON)
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def get(self, path: str) -> Any:
        status, body = self.call("GET", path)
        assert status == 200, body
        return body

    def version(self, version: int | str) -> Any:
        """A schema with its level: two calls."""
        found = self.get(f"{PATH}/versions/{version}?deleted=false")
        assert {"id", "subject", "version", "schema", "schemaType"} <= found.keys()
        found["level"] = self.get(f"{CONFIG}?defaultToGlobal=true")["compatibilityLevel"]
        return found


def new_subject(text: str) -> dict[str, Any]:
    return {"schema": text, "schemaType": "AVRO", "references": []}


@pytest.fixture
def ui() -> Iterator[KafkaUi]:
    with Broker() as running:  # of its own: the test expects the default level
        yield KafkaUi(running.schema_registry_url)


def test_the_pages_of_schemas(ui: KafkaUi) -> None:
    assert ui.get("/config") == {"compatibilityLevel": "BACKWARD"}
    assert ui.call("GET", f"{PATH}/versions/latest?deleted=false")[0] == 404

    status, made = ui.call("POST", f"{PATH}/versions", new_subject(OLD))
    assert (status, made["id"] > 0) == (200, True)
    assert SUBJECT in ui.get("/subjects?deleted=false")
    latest = ui.version("latest")
    assert (latest["subject"], latest["version"], latest["level"]) == (SUBJECT, 1, "BACKWARD")

    check = f"/compatibility{PATH}/versions/latest?verbose=true"
    assert ui.call("POST", check, new_subject(NEW)) == (200, {"is_compatible": True, "messages": []})
    status, verdict = ui.call("POST", check, new_subject(BAD))
    assert (status, verdict["is_compatible"]) == (200, False)
    assert ui.call("POST", f"{PATH}/versions", new_subject(BAD))[0] == 409
    assert ui.call("POST", f"{PATH}/versions", new_subject("nonsense"))[0] == 422
    assert ui.call("POST", f"{PATH}/versions", new_subject(NEW))[0] == 200

    change = {"compatibility": "FULL"}
    assert ui.call("PUT", CONFIG, change) == (200, change)
    assert ui.call("PUT", "/config", {"compatibility": "BACKWARD"})[0] == 200
    versions = ui.get(f"{PATH}/versions")
    assert [ui.version(version)["level"] for version in versions] == ["FULL", "FULL"]

    assert ui.call("DELETE", f"{PATH}/versions/latest?permanent=false") == (200, 2)
    assert ui.call("DELETE", f"{PATH}/versions/1?permanent=false") == (200, 1)
    assert SUBJECT not in ui.get("/subjects?deleted=false")
    assert ui.call("POST", f"{PATH}/versions", new_subject(OLD))[0] == 200
    assert ui.call("DELETE", f"{PATH}?permanent=false")[0] == 200
    assert ui.call("DELETE", f"{PATH}?permanent=false")[0] == 404
