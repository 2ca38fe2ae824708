import pytest

from tidelog.metadata.topics.names import NameCollisions, is_internal, why_illegal


@pytest.mark.parametrize("name", ["a", "A-1._z", "x" * 249, "...", "-", "__consumer_offsets"])
def test_legal_names(name):
    assert why_illegal(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "longer than the max allowed length 249"),
        ("a/b", "contains one or more characters other than ASCII alphanumerics"),
        ("a b", "characters other than"),
        ("größe", "characters other than"),
        ("a\n", "characters other than"),
        ("٣", "characters other than"),
        ("a\x00", "characters other than"),
    ],
)
def test_illegal_names_say_why(name, reason):
    assert why_illegal(name).startswith("Topic name is invalid: ")
    assert reason in why_illegal(name)


def test_dot_and_underscore_collide():
    collisions = NameCollisions(["a.b", "plain"])
    assert collisions.find("a_b") == "a.b"
    assert collisions.find("a.b") is None
    assert collisions.find("a.c") is None
    assert collisions.find("plain") is None


@pytest.mark.parametrize("asked_before", [True, False])
def test_names_added_later_collide_too(asked_before):
    collisions = NameCollisions([])
    if asked_before:
        assert collisions.find("x.y") is None
    collisions.add("x.y")
    assert collisions.find("x_y") == "x.y"


def test_internal_topics():
    assert is_internal("__consumer_offsets")
    assert is_internal("__cluster_metadata")
    assert not is_internal("__mine")
