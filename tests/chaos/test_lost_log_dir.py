"""The log dir of a running broker is deleted: it notices, stops, and others have everything."""

import shutil

import pytest

from tests.chaos.campaign import TOPIC, campaign
from tests.chaos.process_cluster import PATIENCE_S
from tests.chaos.victim import wait_until

pytestmark = pytest.mark.timeout(300)


def test_a_broker_without_its_log_dir_stops_and_nothing_is_lost(make_cluster) -> None:
    cluster = make_cluster()
    cluster.start()
    broker = cluster.members[3]
    with campaign(cluster, "lost log dir", longest_s=0) as run:
        run.begin()
        shutil.rmtree(broker.data, ignore_errors=True)
        wait_until(lambda: broker.has_given_up, broker.log_tail, PATIENCE_S)
        logged = broker.log_text()
        assert "is offline with" in logged
        assert "it was deleted or unmounted" in logged
        assert "The broker had to stop" in logged
        for index in range(3):
            wait_until(lambda i=index: cluster.leader(TOPIC, i) != broker.node_id, "others lead", PATIENCE_S)
        run.crowd.until_writing()
        cluster.launch_missing()
        cluster.until_whole()
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])
