"""All brokers are restarted in turn, as for an upgrade: clients wait a little, and nothing fails."""

from campaign import campaign

from tidelog.testing.history import Outcome


def test_no_request_fails(make_cluster) -> None:
    cluster = make_cluster()
    cluster.start()
    with campaign(cluster, "rolling", longest_s=0) as run:
        run.begin()
        for producer in run.crowd.producers:
            producer.longest_wait_s = 0.0
        for member in cluster.members.values():
            assert member.terminate() == 0, member.log_tail()
            member.launch()
            member.until_ready()
            cluster.until_whole()
            run.crowd.until_writing()
        problems = run.problems()
        assert not problems, "\n".join(problems[:20])
        assert run.crowd.count(Outcome.INFO) == 0
        # Leaders were moved before the broker went, so nobody had to wait until it was missed.
        print(f"longest wait {run.crowd.longest_wait_s:.2f} s")
        for member in cluster.members.values():
            assert "stopping anyway" not in member.log_text()
            assert "is silent for too long" not in member.log_text()
