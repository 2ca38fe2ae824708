"""Processes share queues, while brokers, coordinators and they themselves are killed, paused and cut off.

No finished record comes again, no record is lost or held by two, deliveries are counted, and each
undeliverable record has one dead letter. `make chaos` is the long run of the same.
"""

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from tests.chaos.campaign import run_faults
from tests.chaos.queues.leader_watch import LeaderWatch, Reign
from tests.chaos.queues.queue_crowd import SETTINGS
from tests.chaos.queues.workers import Told
from tidelog.testing.history import Completion
from tidelog.testing.share_history import UNKNOWN_EPOCH, Ack, Acknowledge, Take, Taken

FAULTS = ["crash_client+kill_leader", "kill_coordinator", "crash_client+isolate_leader", "pause_leader"]


@pytest.mark.timeout(300)
def test_share_groups(make_cluster, tmp_path: Path) -> None:
    cluster = make_cluster(**SETTINGS)
    cluster.start()
    run_faults(cluster, FAULTS, "queues", longest_s=2.5, queues_in=tmp_path / "workers")


def test_what_a_killed_member_leaves_behind(tmp_path: Path) -> None:
    """A request without an answer may have had its effect; a line that was cut says nothing."""
    first = Take("g", "m", "c", 1.0)
    answered = Take("g", "m", "c", 1.0, 2.0, Completion.OK, records=[Taken("q-0", 7, "v", 1, 0)])
    second = Acknowledge("g", "m", "c", 3.0, acks=[Ack("q-0", 7, 1, 1)])
    lines = [[1, first], [1, answered], [2, second], {"complaint": "odd"}]
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    (tmp_path / "x.jsonl").write_bytes(text + b'[2,{"type":"ack')
    (tmp_path / "x.err").write_text("")
    told = Told(tmp_path / "x.jsonl")
    assert told.events == [answered, second]
    assert told.complaints == ["x: odd"]


@pytest.mark.parametrize(
    ("started", "ended", "epoch"),
    [
        (2.0, 4.9, 3),
        (2.0, 5.1, UNKNOWN_EPOCH),
        (0.9, 2.0, UNKNOWN_EPOCH),
        (6.5, 7.0, 4),
        (2.0, 0.0, UNKNOWN_EPOCH),
    ],
)
def test_epochs_are_known_where_a_broker_said_the_same_before_and_after(
    started: float, ended: float, epoch: int
) -> None:
    member = SimpleNamespace(address="h:1", node_id=1)
    watch = LeaderWatch([member], ["q"])
    watch._watches["h:1"]._reigns = [Reign(1.0, 5.0, 70, {"q-0": 3}), Reign(6.0, 8.0, 70, {"q-0": 4})]
    take = Take("g", "m", "c", started, ended, Completion.OK, "h:1", records=[Taken("q-0", 7, "v", 1, 0)])
    watch.complete(take)
    assert take.records[0].epoch == epoch
    assert take.broker == ("h:1" if epoch == UNKNOWN_EPOCH else "h:1 of process 70")
