"""The log of slow requests: which requests are slow, and what their lines say."""

import logging

import pytest

from tidelog.broker.metrics.slow_requests import SlowRequest, is_slow, log_slow_request
from tidelog.broker.requests.client_connection import ClientConnection

CLIENT = ClientConnection("192.0.2.1", 5555, "PLAINTEXT")


def slow(api: str, local: float, remote: float) -> SlowRequest:
    return SlowRequest(api, CLIENT, 120, local, remote, 0.05)


def test_a_request_is_judged_by_its_whole_time_and_one_that_waits_by_nature_by_its_own() -> None:
    assert is_slow(slow("Produce", 0.01, 0.2), 0.1)
    assert not is_slow(slow("Produce", 0.01, 0.02), 0.1)
    assert not is_slow(slow("Fetch", 0.01, 0.5), 0.1)
    assert is_slow(slow("JoinGroup", 0.2, 0.5), 0.1)


def test_a_line_names_the_api_the_client_and_the_parts_of_the_time(caplog: pytest.LogCaptureFixture) -> None:
    CLIENT.client_id, CLIENT.principal = "app\n1", "User:alice"
    with caplog.at_level(logging.WARNING):
        log_slow_request(slow("Produce", 0.01, 0.2))
    assert caplog.messages == [
        "slow request: Produce of 120 bytes took 210 ms (10 ms in this broker, 200 ms waiting; then a pause "
        "of 50 ms by quota), client id 'app\\n1', User:alice, 192.0.2.1:5555 on PLAINTEXT"
    ]
