"""The disk of one broker is full, or has little space left: others lead what it led, and it comes back."""

import pytest

from tests.chaos.campaign import TOPIC, campaign
from tests.chaos.process_cluster import PATIENCE_S
from tests.chaos.small_disk import NoSmallDisk
from tests.chaos.victim import wait_until

pytestmark = pytest.mark.timeout(300)


RESERVE_BYTES = 6 << 20


@pytest.mark.parametrize("reserve_bytes", [0, RESERVE_BYTES], ids=["full", "below the reserve"])
def test_others_take_over_and_it_comes_back(make_cluster, reserve_bytes: int) -> None:
    cluster = make_cluster(log_dirs_min_free_bytes=reserve_bytes)
    broker = cluster.members[3]
    try:
        disk = broker.give_small_disk(megabytes=16)
    except NoSmallDisk as reason:
        pytest.skip(str(reason))
    cluster.start()
    with campaign(cluster, "full disk", longest_s=0) as run:
        run.begin()
        led = [index for index in range(3) if cluster.leader(TOPIC, index) == broker.node_id]
        assert led, "leaders are spread over all brokers"
        if reserve_bytes:
            disk.leave(reserve_bytes - (1 << 20))

        def others_lead() -> bool:
            if not reserve_bytes:
                disk.fill()  # again and again: a broker deletes what it need not keep, such as old segments
            # A broker without a free byte may not be able to note who leads now, so another one is asked.
            leaders = cluster.leaders_told_by(cluster.members[1], TOPIC)
            return all(leaders.get(index, broker.node_id) != broker.node_id for index in led)

        wait_until(others_lead, "others lead", PATIENCE_S, pause_s=0.2)
        run.crowd.until_writing()
        told = broker.log_text()
        if reserve_bytes:
            assert "clients' records are refused: log dir" in told
            assert "No space left on device" not in told
        else:
            assert "No space left on device" in told
            assert "until there is room" in told
        disk.free()
        cluster.until_whole()
        again = "records are accepted again" if reserve_bytes else "accepts records again"
        assert again in broker.log_text()
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])
