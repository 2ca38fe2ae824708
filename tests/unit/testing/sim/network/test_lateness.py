"""Which simulated requests come late, and which must not."""

import random

from tidelog.testing.sim.network.lateness import Lateness, must_be_in_time
from tidelog.wire.apis import ApiKey
from tidelog.wire.frame import write_request
from tidelog.wire.messages.fetch import FetchRequest
from tidelog.wire.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest


def frame(*versions: int) -> bytearray:
    markers = [WritableTxnMarker(producer_id=1, transaction_version=version) for version in versions]
    request = WriteTxnMarkersRequest(markers=markers)
    return bytearray(b"".join(write_request(ApiKey.WRITE_TXN_MARKERS, 2, 1, "n1", request))[4:])  # type: ignore[arg-type]


def test_only_what_was_asked_for_comes_late() -> None:
    lateness = Lateness(random.Random(1))
    assert lateness.of(frame(2), "n1") is None
    lateness.begin(1.0, ("n1",), (2.0, 3.0), (ApiKey.WRITE_TXN_MARKERS,))
    delay = lateness.of(frame(2), "n1")
    assert delay is not None
    assert 2.0 <= delay <= 3.0
    assert lateness.of(frame(2), "n2") is None
    fetch = bytearray(b"".join(write_request(ApiKey.FETCH, 12, 1, "n1", FetchRequest()))[4:])  # type: ignore[arg-type]
    assert lateness.of(fetch, "n1") is None
    lateness.end()
    assert lateness.of(frame(2), "n1") is None


def test_markers_of_the_first_protocol_have_nothing_that_tells_them_apart() -> None:
    assert not must_be_in_time(frame(2))
    assert must_be_in_time(frame(2, 0))
