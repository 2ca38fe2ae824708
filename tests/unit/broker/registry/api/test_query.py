"""Queries, as Confluent's server reads them."""

import pytest

from tidelog.broker.registry.api.query import FIELDS_MAX, Query
from tidelog.registry.errors import RegistryCode, RegistryError


def test_a_query_has_flags_texts_and_numbers():
    query = Query("deleted=TRUE&permanent=1&format=re%20solved&key=a&key=b&empty=&limit=7")
    assert query.flag("deleted")
    assert not query.flag("permanent")
    assert not query.flag("missing")
    assert (query.text("format"), query.text("missing")) == ("re solved", "")
    assert (query.given("empty"), query.given("missing")) == ("", None)
    assert query.texts("key") == ["a", "b"]
    assert (query.number("limit", -1), query.number("offset", 3)) == (7, 3)


@pytest.mark.parametrize("text", ["x", "1.5", "99999999999", "2147483648", "٣", "--1", "1e3", "-"])
def test_a_number_has_32_bits(text):
    with pytest.raises(RegistryError) as refused:
        Query(f"limit={text}").number("limit", -1)
    assert refused.value.code is RegistryCode.NOT_FOUND


@pytest.mark.parametrize("text", ["&".join(["a=b"] * (FIELDS_MAX + 1)), "a=%FF"])
def test_what_is_no_query_is_refused(text):
    with pytest.raises(RegistryError) as refused:
        Query(text)
    assert refused.value.code is RegistryCode.BAD_REQUEST
