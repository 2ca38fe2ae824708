"""The table of all metrics keeps the rules of Prometheus, so that promtool and people accept it."""

import re

import pytest

from tidelog.metrics.catalogue import FAMILIES, THEMES
from tidelog.metrics.family import Family, Kind

RESERVED = ("_bucket", "_count", "_sum", "_created", "_info")


def test_no_name_is_given_twice() -> None:
    names = [value.name for theme in THEMES for value in vars(theme).values() if isinstance(value, Family)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_names_and_words_keep_the_rules(family: Family) -> None:
    assert re.fullmatch(r"(tidelog|process)_[a-z][a-z0-9_]*", family.name)
    assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
    assert not family.name.endswith(RESERVED) or family.name == "tidelog_info"
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", label) and label != "le" for label in family.labels)
    assert family.help.endswith(".")
    if family.kind is Kind.HISTOGRAM:
        assert list(family.bounds) == sorted(set(family.bounds))
