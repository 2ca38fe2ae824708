"""The checks of the schema registry, each with a history that it refuses and some that it lets pass."""

import pytest

from tidelog.testing.registry_checkers import check_registry
from tidelog.testing.registry_history import (
    OK,
    REFUSED,
    UNREACHED,
    UNSURE,
    LastVersion,
    RegistryHistory,
    RegistryRequest,
)


class Story:
    """Requests one after the other, each a second long."""

    def __init__(self) -> None:
        self.history = RegistryHistory()
        self.now = 0.0

    def add(self, kind, subject, outcome=OK, *, client="c", **fields):
        request = RegistryRequest(client, kind, subject, self.now, self.now + 1, UNSURE)
        number = self.history.begin(request)
        self.now += 2
        done = RegistryRequest(client, kind, subject, request.started, request.ended, outcome, **fields)
        self.history.end(number, done)
        return self

    def registered(self, subject, text, schema_id, version, **fields):
        return self.add("register", subject, text=text, id=schema_id, version=version, **fields)

    def ends(self, *last, **levels):
        """Each of the last: subject, version, id, text, and `deleted` where it is."""
        self.history.last = [LastVersion(*one[:4], len(one) > 4) for one in last]
        self.history.last_levels = {name.replace("_", "-"): level for name, level in levels.items()}
        self.history.is_complete = True
        return [anomaly.rule for anomaly in check_registry(self.history)]


def test_a_good_history():
    story = Story().registered("shared-0", "x", 1, 1).registered("shared-0", "y", 2, 2)
    story.registered("shared-1", "x", 1, 1, client="d").registered("shared-0", "x", 1, 1, client="d")
    story.add("read", "", id=1, text="x").add("read", "", UNREACHED, id=1)
    last = [("shared-0", 1, 1, "x"), ("shared-0", 2, 2, "y"), ("shared-1", 1, 1, "x")]
    assert story.ends(*last) == []


def test_one_content_with_two_ids():
    story = Story().registered("shared-0", "x", 1, 1).registered("shared-1", "x", 2, 1)
    assert story.ends(("shared-0", 1, 1, "x"), ("shared-1", 1, 2, "x")) == ["two ids"]


def test_an_id_with_two_contents():
    story = Story().registered("own-a", "x", 1, 1).add("delete_subject", "own-a")
    story.add("delete_subject", "own-a", permanent=True).registered("own-a", "y", 1, 1)
    assert "two contents" in story.ends(("own-a", 1, 1, "y"))
    assert "two contents" in Story().registered("shared-0", "x", 1, 1).add("read", "", id=1, text="y").ends(
        ("shared-0", 1, 1, "x")
    )


def test_an_id_that_is_missing():
    story = Story().add("read", "", REFUSED, id=1, code=40403).registered("shared-0", "x", 1, 1)
    assert story.ends(("shared-0", 1, 1, "x")) == []
    story.add("read", "", REFUSED, id=1, code=40403)
    assert story.ends(("shared-0", 1, 1, "x")) == ["missing read"]


def test_versions_that_descend():
    story = Story().registered("shared-0", "x", 1, 2).registered("shared-0", "y", 2, 1)
    assert story.ends(("shared-0", 2, 1, "x"), ("shared-0", 1, 2, "y")) == ["descending versions"]


def test_one_content_with_two_versions():
    story = Story().registered("shared-0", "x", 1, 1).registered("shared-0", "x", 1, 2)
    assert "two versions" in story.ends(("shared-0", 1, 1, "x"), ("shared-0", 2, 1, "x"))


def test_versions_with_a_gap():
    assert Story().registered("shared-0", "x", 1, 2).ends(("shared-0", 2, 1, "x")) == ["versions with gaps"]


def test_a_registration_that_is_lost():
    assert Story().registered("shared-0", "x", 1, 1).ends() == ["lost registration"]
    assert Story().registered("own-a", "x", 1, 1).ends() == ["lost change"]


@pytest.mark.parametrize(
    ("kind", "permanent", "last"),
    [
        ("delete_version", False, [("own-a", 1, 1, "x", "deleted"), ("own-a", 2, 2, "y")]),
        ("delete_subject", False, [("own-a", 1, 1, "x", "deleted"), ("own-a", 2, 2, "y", "deleted")]),
    ],
)
def test_a_deletion_that_is_lost(kind, permanent, last):
    def story(outcome):
        two = Story().registered("own-a", "x", 1, 1).registered("own-a", "y", 2, 2)
        return two.add(kind, "own-a", outcome, version=1, permanent=permanent)

    before = [("own-a", 1, 1, "x"), ("own-a", 2, 2, "y")]
    assert story(OK).ends(*last) == []
    assert story(OK).ends(*before) == ["lost change"]
    assert story(UNSURE).ends(*last) == []
    assert story(UNSURE).ends(*before) == []
    assert story(REFUSED).ends(*last) == ["lost change"]


def test_a_version_that_comes_back_after_it_was_deleted_for_good():
    story = Story().registered("own-a", "x", 1, 1).registered("own-a", "y", 2, 2)
    story.add("delete_version", "own-a", version=1).add("delete_version", "own-a", version=1, permanent=True)
    assert story.ends(("own-a", 2, 2, "y")) == []
    assert story.ends(("own-a", 1, 1, "x", "deleted"), ("own-a", 2, 2, "y")) == ["lost change"]


def test_a_schema_that_is_registered_again_moves_to_a_new_version():
    story = (
        Story().registered("own-a", "x", 1, 1).add("delete_subject", "own-a").registered("own-a", "x", 1, 2)
    )
    assert story.ends(("own-a", 2, 1, "x")) == []


def test_a_config_that_is_lost():
    story = Story().registered("own-a", "x", 1, 1).add("config", "own-a", level="FULL")
    last = ("own-a", 1, 1, "x")
    assert story.ends(last, own_a="FULL") == []
    assert story.ends(last) == ["lost config"]
    story.add("config", "own-a", UNSURE, level="NONE")
    assert story.ends(last, own_a="NONE") == []
    assert story.ends(last, own_a="BACKWARD") == ["lost config"]


def test_a_config_goes_with_its_subject():
    story = Story().registered("own-a", "x", 1, 1).add("config", "own-a", level="FULL")
    story.add("delete_subject", "own-a").add("delete_subject", "own-a", permanent=True)
    assert story.ends() == []
    assert story.ends(own_a="FULL") == ["lost config"]


def test_an_end_that_was_not_read_says_nothing_of_losses():
    history = Story().registered("shared-0", "x", 1, 1).history
    assert check_registry(history) == []
