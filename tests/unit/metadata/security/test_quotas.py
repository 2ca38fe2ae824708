"""AlterClientQuotas and DescribeClientQuotas as decisions."""

import pytest

from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.image.image import ClusterImage, advance
from tidelog.metadata.security.quotas import QuotaEdit, QuotaFilter, decide_alter_quotas, described_quotas
from tidelog.security.quotas.entity import QuotaEntity

RATE = "producer_byte_rate"
EDITS = [
    QuotaEdit([("user", "alice")], [(RATE, 10.0), ("request_percentage", 12.5)]),
    QuotaEdit([("user", "alice"), ("client-id", "app")], [(RATE, 20.0)]),
    QuotaEdit([("user", None)], [(RATE, 30.0)]),
    QuotaEdit([("client-id", "app")], [(RATE, 40.0)]),
    QuotaEdit([("ip", "192.0.2.1")], [("connection_creation_rate", 5.0)]),
]


def image_with(*edits):
    return advance(ClusterImage(), decide_alter_quotas(ClusterImage(), edits).records).after


def found(filters, strict=False):
    return {str(entity) for entity, _ in described_quotas(image_with(*EDITS), filters, strict=strict)}


@pytest.mark.parametrize(
    ("filters", "strict", "entities"),
    [
        (
            [],
            False,
            {"user=alice", "user=alice, client-id=app", "user=<default>", "client-id=app", "ip=192.0.2.1"},
        ),
        ([QuotaFilter("user", "alice")], False, {"user=alice", "user=alice, client-id=app"}),
        ([QuotaFilter("user", "alice")], True, {"user=alice"}),
        ([QuotaFilter("user")], False, {"user=<default>"}),
        ([QuotaFilter("user", any_name=True)], True, {"user=alice", "user=<default>"}),
        (
            [QuotaFilter("user", any_name=True), QuotaFilter("client-id", any_name=True)],
            False,
            {"user=alice, client-id=app"},
        ),
        ([QuotaFilter("ip", "192.0.2.2")], False, set()),
    ],
)
def test_describe(filters, strict, entities) -> None:
    assert found(filters, strict) == entities


def test_filters_that_are_refused() -> None:
    with pytest.raises(KafkaError, match="duplicated"):
        found([QuotaFilter("user"), QuotaFilter("user")])
    with pytest.raises(KafkaError, match="not supported"):
        found([QuotaFilter("planet")])


def test_a_limit_is_taken_away() -> None:
    image = image_with(*EDITS)
    decision = decide_alter_quotas(
        image, [QuotaEdit([("user", "alice")], [(RATE, None), ("request_percentage", None)])]
    )
    assert QuotaEntity("alice") not in advance(image, decision.records).after.security.quotas


def test_what_is_as_it_was_writes_nothing() -> None:
    assert not decide_alter_quotas(image_with(*EDITS), EDITS).records
    assert not decide_alter_quotas(ClusterImage(), EDITS, validate_only=True).records


@pytest.mark.parametrize(
    "edit",
    [
        QuotaEdit([], [(RATE, 1.0)]),
        QuotaEdit([("planet", "x")], [(RATE, 1.0)]),
        QuotaEdit([("user", "")], [(RATE, 1.0)]),
        QuotaEdit([("user", "a"), ("user", "b")], [(RATE, 1.0)]),
        QuotaEdit([("user", "a"), ("ip", "192.0.2.1")], [(RATE, 1.0)]),
        QuotaEdit([("ip", "nowhere")], [("connection_creation_rate", 1.0)]),
        QuotaEdit([("ip", "192.0.2.1")], [(RATE, 1.0)]),
        QuotaEdit([("user", "a")], [("connection_creation_rate", 1.0)]),
        QuotaEdit([("user", "a")], [("speed", 1.0)]),
        QuotaEdit([("user", "a")], [(RATE, 0.0)]),
        QuotaEdit([("user", "a")], [(RATE, -1.0)]),
        QuotaEdit([("user", "a")], [(RATE, 1.5)]),
        QuotaEdit([("user", "a")], [(RATE, float("nan"))]),
        QuotaEdit([("user", "a")], [(RATE, float("inf"))]),
        QuotaEdit([("user", "a")], [(RATE, 1.0), (RATE, 2.0)]),
    ],
)
def test_quotas_that_are_refused(edit) -> None:
    decision = decide_alter_quotas(ClusterImage(), [edit, EDITS[0]])
    assert [result.error for result in decision.results] == [ErrorCode.INVALID_REQUEST, ErrorCode.NONE]
    assert len(decision.records) == len(EDITS[0].limits)
