"""Whatever arrives at the schema registry's port: an answer of its API, and refusals store nothing."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rigs.local_registry import LocalRegistry, record
from tidelog.broker.registry.router import ROUTES, answer
from tidelog.server.registry.app import RegistryApp
from tidelog.server.registry.content_types import OFFERED

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"]
SEGMENTS = [
    "known",
    "orders-value",
    "latest",
    "-1",
    "0",
    "1",
    "99",
    "%",
    "%2F",
    "%00",
    "%FF",
    "%ED%A0%80",
    ":.x:",
    "",
    ".",
    "é",
]
FIELDS = [
    "schema",
    "schemaType",
    "references",
    "metadata",
    "ruleSet",
    "version",
    "id",
    "mode",
    "compatibility",
    "alias",
    "x",
]
QUERIES = [
    "deleted",
    "permanent",
    "format",
    "normalize",
    "limit",
    "offset",
    "subject",
    "subjectPrefix",
    "key",
    "verbose",
]

texts = st.text(max_size=20) | st.sampled_from(
    ["AVRO", "JSON", "PROTOBUF", '"string"', "{}", "[]", "IMPORT", "NONE"]
)
numbers = st.integers() | st.floats() | st.sampled_from([2**31 - 1, 2**31, -1, 2**64])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | texts, inner, max_size=3)
    ),
    max_leaves=8,
)
bodies = (
    st.binary(max_size=60)
    | values.map(lambda value: json.dumps(value).encode())
    | st.dictionaries(st.sampled_from(FIELDS), values, max_size=4).map(
        lambda value: json.dumps(value).encode()
    )
    | st.sampled_from(
        [b"[" * 5000, b'{"schema":' * 3000, b'{"schema":"\\ud800"}', b'\xff{"schema":1}', b"x" * 50_000]
    )
)
segments = st.sampled_from(SEGMENTS) | st.text(max_size=8)


@st.composite
def paths(draw):
    if draw(st.integers(0, 4)) == 0:
        return "/" + "/".join(draw(st.lists(segments, max_size=8)))
    template = draw(st.sampled_from(ROUTES))[1].split("/")
    path = "/".join(draw(segments) if part[:1] == "{" else part for part in template)
    return draw(st.sampled_from(["", "", "/contexts/.x", "/contexts/%3A"])) + path


queries = st.text(max_size=20) | st.lists(
    st.tuples(st.sampled_from(QUERIES), texts | st.sampled_from(["true", "1", "-5", "99999999999"])),
    max_size=3,
).map(lambda pairs: "&".join(f"{name}={value}" for name, value in pairs))
headers = st.lists(
    st.tuples(
        st.sampled_from([b"accept", b"content-type", b"authorization", b"x"]),
        st.binary(max_size=20)
        | st.sampled_from([b"application/json", b"*/*;q=0.5", b"text/html", b"Basic !"]),
    ),
    max_size=3,
)


def new_registry():
    registry = LocalRegistry()
    registry.register("known", record("a"))
    registry.register("orders-value", record("a"))
    registry.register("orders-value", record("a", "b"))
    registry.register(":.x:known", record("c"))
    return registry


REGISTRY = new_registry()
"""The same for all requests: whatever they did, the next one is answered."""


async def call(requested):
    return await answer(requested, REGISTRY)


APP = RegistryApp(call, body_bytes_max=40_000)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(METHODS), paths(), queries, headers, bodies)
def test_any_request_gets_an_answer_of_the_api(method, path, query, given_headers, body):
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(errors="surrogatepass"),
        "query_string": query.encode(errors="surrogatepass"),
        "headers": given_headers,
        "client": ("192.0.2.1", 1),
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(event):
        sent.append(event)

    before = REGISTRY.records
    with pytest.raises(StopIteration):  # nothing waits, so that no event loop is needed
        APP(scope, receive, send).send(None)
    start, content = sent
    found = dict(start["headers"])
    assert start["status"] < 500, content
    assert found[b"content-type"].decode() in OFFERED
    assert int(found[b"content-length"]) == len(content["body"])
    if start["status"] >= 400:
        answered = json.loads(content["body"])
        assert set(answered) == {"error_code", "message"}
        assert str(answered["error_code"])[:3] == str(start["status"])
        assert answered["message"]
        assert REGISTRY.records == before
    if method in ("GET", "HEAD"):
        assert REGISTRY.records == before
