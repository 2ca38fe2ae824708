"""Paths are split before they are decoded, and may begin with a context."""

import pytest

from tidelog.broker.registry.api.paths import CHARS_MAX, Template, locate
from tidelog.registry.errors import RegistryCode, RegistryError


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        ("/subjects/orders-value/versions", "orders-value"),
        ("/subjects/a%2Fb/versions/", "a/b"),
        ("/subjects/%3A.ctx%3Aorders/versions", ":.ctx:orders"),
        ("/subjects/a+b%20c/versions", "a+b c"),
        ("/subjects/%C3%A4/versions", "ä"),
        ("/subjects//versions", ""),
    ],
)
def test_a_subject_is_decoded_once(path, subject):
    assert Template("/subjects/{subject}/versions").match(locate(path).parts) == {"subject": subject}


@pytest.mark.parametrize("path", ["/subjects/a/b/versions", "/subjects/versions", "/subject/a/versions", "/"])
def test_other_shapes_do_not_match(path):
    assert Template("/subjects/{subject}/versions").match(locate(path).parts) is None


@pytest.mark.parametrize(
    ("path", "parts", "context"),
    [
        ("/contexts", ("contexts",), None),
        ("/contexts/.staging", ("contexts", ".staging"), None),
        ("/contexts/.staging/subjects", ("subjects",), ":.staging:"),
        ("/contexts/staging/subjects", ("subjects",), ":.staging:"),
        ("/contexts/%3A.staging%3A/subjects", ("subjects",), ":.staging:"),
        ("/contexts/./subjects/a", ("subjects", "a"), ""),
        ("/contexts/.staging/subjects/a%2Fb", ("subjects", "%3A.staging%3Aa%2Fb"), ":.staging:"),
        ("/contexts/.staging/subjects/%3A.other%3Aa", ("subjects", "%3A.other%3Aa"), ":.staging:"),
        ("/contexts/.staging/config", ("config", "%3A.staging%3A"), ":.staging:"),
        ("/contexts/./config", ("config",), ""),
        ("/contexts/.staging/mode/a", ("mode", "%3A.staging%3Aa"), ":.staging:"),
        ("/contexts/.staging/mode/subjects", ("mode", "%3A.staging%3Asubjects"), ":.staging:"),
        ("/contexts/.staging/config/subjects", ("config", "%3A.staging%3Asubjects"), ":.staging:"),
        (
            "/contexts/.staging/subjects/subjects/versions",
            ("subjects", "%3A.staging%3Asubjects", "versions"),
            ":.staging:",
        ),
        (
            "/contexts/.staging/compatibility/subjects/a/versions",
            ("compatibility", "subjects", "%3A.staging%3Aa", "versions"),
            ":.staging:",
        ),
        ("/contexts/.staging/schemas/ids/1", ("schemas", "ids", "1"), ":.staging:"),
    ],
)
def test_a_context_moves_from_the_path_to_the_subject(path, parts, context):
    assert locate(path) == (parts, context)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/" + "a" * CHARS_MAX, RegistryCode.NOT_FOUND),
        ("/a" * 20, RegistryCode.NOT_FOUND),
        ("/contexts/a:b/subjects", RegistryCode.INVALID_SUBJECT),
        ("/contexts/%FF/subjects", RegistryCode.BAD_REQUEST),
    ],
)
def test_what_is_no_path_is_refused(path, code):
    with pytest.raises(RegistryError) as refused:
        locate(path)
    assert refused.value.code is code
