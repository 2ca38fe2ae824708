"""The settings that a test's marks ask for; a mark that would be ignored is refused."""

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.testing.pytest_plugin import _marked


def marked(*marks: pytest.MarkDecorator) -> Any:
    """A test whose nearest mark is the first one."""
    return SimpleNamespace(iter_markers=lambda name: iter([mark.mark for mark in marks]))


def test_the_nearest_mark_wins() -> None:
    test = marked(
        pytest.mark.tidelog({"num.partitions": 3}),
        pytest.mark.tidelog(settings={"num.partitions": 1, "durability": "os"}),
    )
    assert _marked(test).settings == {"num.partitions": 3, "durability": "os"}
    assert _marked(marked()) == ({}, None)


@pytest.mark.parametrize(
    "mark",
    [
        pytest.mark.tidelog(num_partitions=3),
        pytest.mark.tidelog("num.partitions=3"),
        pytest.mark.tidelog({"num.partitions": 3}, {"durability": "os"}),
        pytest.mark.tidelog(settings=None),
        pytest.mark.tidelog,
    ],
)
def test_a_mark_that_says_nothing(mark: pytest.MarkDecorator) -> None:
    with pytest.raises(pytest.UsageError, match="write the mark as"):
        _marked(marked(mark))


def test_security_comes_from_marks_too() -> None:
    test = marked(
        pytest.mark.tidelog(users=["ann"], acls=[("ann", "Read", "topic", "*")]),
        pytest.mark.tidelog({"num.partitions": 3}, security="sasl_ssl", mechanism="PLAIN"),
    )
    settings, security = _marked(test)
    assert settings == {"num.partitions": 3}
    assert security is not None
    assert (security.protocol, security.mechanism) == ("sasl_ssl", "PLAIN")
    assert set(security.passwords) == {"admin", "ann"}


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        (pytest.mark.tidelog(users=["ann"]), "users without security="),
        (pytest.mark.tidelog(security="tls"), "security='tls' is none of ssl"),
        (pytest.mark.tidelog(security="ssl", mechanism="GSSAPI"), "mechanism='GSSAPI' is none of PLAIN"),
    ],
)
def test_security_that_does_not_exist(mark: pytest.MarkDecorator, says: str) -> None:
    with pytest.raises(pytest.UsageError, match=says):
        _marked(marked(mark))
