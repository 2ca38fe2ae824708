"""A broker that is told to stop does not wait for members that wait for records, nor for those they hold."""

import time
from pathlib import Path

from tests.faults.log_calls import batch, create_topic, produce
from tests.faults.measured_broker import BrokerProcess
from tests.faults.share_calls import acquired_in, fetch_shares, join_shares
from tidelog.wire.apis import ApiKey
from tidelog.wire.messages.share_fetch import ShareFetchRequest

STOP_SECONDS_MAX = 8.0


def test_a_stop_with_fetches_that_wait(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, durability="os") as broker:
        first, second = broker.connect(), broker.connect()
        topic_id = create_topic(first, "jobs")
        assert produce(first, "jobs", batch(b"a", b"b")).error_code == 0
        join_shares(first, "workers", "anna", "jobs")
        assert acquired_in(fetch_shares(first, "workers", "anna", 0, {topic_id: [0]})) == [(0, 1, 1)]
        fetch_shares(second, "workers", "boris", 0, {topic_id: [0]}, max_wait_ms=10)
        for client, member in ((first, "anna"), (second, "boris")):
            waiting = ShareFetchRequest(
                group_id="workers",
                member_id=member,
                share_session_epoch=1,
                max_wait_ms=300_000,
                min_bytes=1,
                max_bytes=1000,
                max_records=10,
            )
            client.send_request(ApiKey.SHARE_FETCH, 2, waiting)
        time.sleep(0.3)
        begun = time.monotonic()
    assert time.monotonic() - begun < STOP_SECONDS_MAX
    assert "Traceback" not in broker.log_text()
    with BrokerProcess(tmp_path, durability="os") as broker, broker.connect() as client:
        join_shares(client, "workers", "clara", "jobs")
        answer = fetch_shares(client, "workers", "clara", 0, {topic_id: [0]}, max_wait_ms=5000)
        assert [(first, last) for first, last, _ in acquired_in(answer)] == [(0, 1)], "none is lost"
