"""Addresses have one form, whoever wrote them."""

import pytest

from tidelog.base.addresses import address_text
from tidelog.base.settings.quotas import parse_overrides
from tidelog.metadata.image.image import ClusterImage
from tidelog.metadata.security.quotas import QuotaEdit, decide_alter_quotas


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:DB8::A", "2001:db8::a"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
    ],
)
def test_an_address_as_connections_have_it(given: str, shown: str) -> None:
    assert address_text(given) == shown


def test_what_is_no_address() -> None:
    with pytest.raises(ValueError, match="localhost"):
        address_text("localhost")


def test_limits_of_an_address_that_a_listener_for_both_families_sees() -> None:
    assert parse_overrides(("[::ffff:192.0.2.1]:7",)) == {"192.0.2.1": 7}
    edit = QuotaEdit([("ip", "::ffff:192.0.2.1")], [("connection_creation_rate", 5.0)])
    [record] = decide_alter_quotas(ClusterImage(), [edit]).records
    assert record.entity == {"ip": "192.0.2.1"}
