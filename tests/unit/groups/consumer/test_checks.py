"""Requests that no group could accept, and who chooses the member id."""

import pytest

from tidelog.base.errors import ErrorCode
from tidelog.groups.consumer.messages import HeartbeatRequest

JOIN = HeartbeatRequest(
    "g", "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=("t",), topic_partitions=()
)


@pytest.mark.parametrize(
    "changes",
    [
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"member_id": ""},
        {"member_id": "", "api_version": 0, "member_epoch": 3},
        {"member_id": "", "api_version": 0, "member_epoch": -1},
        {"member_epoch": -3},
        {"member_epoch": -2},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": ((bytes(16), (0,)),)},
        {"subscribed_topic_names": None},
        {"member_id": "m" * 9000},
    ],
)
def test_invalid_requests(club, changes):
    assert club.send(JOIN._replace(**changes)).error is ErrorCode.INVALID_REQUEST
    assert club.rig.records == []


def test_an_assignor_that_is_not_offered(make_club):
    club = make_club({"consumer_assignors": ("range",)}, t=1)
    answer = club.send(JOIN._replace(server_assignor="uniform"))
    assert answer.error is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert "range" in answer.error_message


def test_the_broker_chooses_an_id_in_version_0_where_there_is_none(club):
    chosen = club.send(JOIN._replace(member_id="", api_version=0)).member_id
    assert len(chosen) == 22
    assert club.send(JOIN._replace(member_id="own", api_version=0)).member_id == "own"


@pytest.mark.parametrize(
    "empty", [{"subscribed_topic_names": ()}, {"subscribed_topic_names": None, "subscribed_topic_regex": ""}]
)
def test_a_member_may_read_nothing(club, empty):
    answer = club.send(JOIN._replace(**empty))
    assert (answer.error, answer.assignment, answer.member_epoch) == (ErrorCode.NONE, {}, 1)
