"""Which content types are taken, and which is sent back."""

import pytest

from tidelog.server.registry.content_types import V1_JSON, chosen, is_taken

DEFAULT = "application/vnd.schemaregistry+json"
JSON = "application/json"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", V1_JSON),
        ("*/*", V1_JSON),
        ("application/*", V1_JSON),
        (JSON, JSON),
        (DEFAULT, DEFAULT),
        (f"{V1_JSON}, {DEFAULT}, {JSON}", V1_JSON),
        (f"{V1_JSON};q=0.1, {JSON};q=0.9", JSON),
        ("application/json;charset=utf-8", JSON),
        ("text/html, */*;q=0.1", V1_JSON),
        (f"{V1_JSON};q=0, {JSON}", JSON),
        (f"{JSON};q=nonsense", JSON),
        ("TEXT/HTML, Application/JSON", JSON),
        ("text/html", None),
        ("application/json;q=0", None),
        ("nonsense", None),
    ],
)
def test_the_best_type_that_a_client_accepts(accept, expected):
    assert chosen(accept) == expected


@pytest.mark.parametrize(
    "content_type",
    ["", V1_JSON, DEFAULT, JSON, "application/json; charset=utf-8", "application/octet-stream"],
)
def test_bodies_that_are_read(content_type):
    assert is_taken(content_type)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml"]
)
def test_bodies_that_are_not_read(content_type):
    assert not is_taken(content_type)
