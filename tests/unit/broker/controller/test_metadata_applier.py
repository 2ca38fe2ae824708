"""What the quorum agreed on reaches the image, and from time to time a snapshot."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.rigs.quorum import QuorumRig, at_once
from tests.rigs.virtual_time import run
from tidelog.base.errors import ErrorCode, KafkaError
from tidelog.metadata.brokers.brokers import decide_create_cluster
from tidelog.metadata.store import store as quorum_store
from tidelog.metadata.store.store import QuorumStore
from tidelog.raft.entries import Entry, EntryKind
from tidelog.server.disk_threads import DiskThreadsBusy


def test_a_snapshot_waits_for_a_busy_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    async def life() -> None:
        rig = QuorumRig()
        await rig.start()
        refused = 0

        def busy_at_first(job: Callable[[], Any]) -> "asyncio.Future[Any]":
            nonlocal refused
            if refused < 3:
                refused += 1
                raise DiskThreadsBusy("10000 disk jobs are waiting")
            return at_once(job)

        monkeypatch.setattr(quorum_store, "SNAPSHOT_AFTER_ENTRIES", 1)
        monkeypatch.setattr(rig.applier, "_run_in_thread", busy_at_first)
        await rig.metadata.change(lambda image: decide_create_cluster(image, cluster_id="c"))
        await asyncio.sleep(1)
        assert refused == 3
        assert rig.metadata.failure is None
        await rig.stop()
        again = QuorumStore.open(rig.disk, "/data/__cluster_metadata-0")
        assert again.snapshot.image.cluster_id == "c"

    run(life())


@pytest.mark.parametrize("comes_from", ["the old controller", "the new controller", "nobody"])
def test_what_a_controller_proposed_last_may_stay(comes_from: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ceases to lead before that is agreed on: it was done if it turns up, and only then."""

    async def life() -> None:
        rig = QuorumRig()
        await rig.start()
        term, index = rig.quorum.raft.term, rig.applier.applied + 1
        proposed = rig.applier.expect(index, term)
        monkeypatch.setattr(type(rig.quorum.raft), "is_leader", False)
        monkeypatch.setattr(type(rig.quorum.raft), "is_ready_leader", False)
        rig.applier.on_role()
        await asyncio.sleep(0.5)
        assert not proposed.done()
        if comes_from != "nobody":
            term += comes_from == "the new controller"
            rig.applier.on_entries([(index, Entry(term, EntryKind.NOOP, b""))])
        await asyncio.sleep(0.1 if comes_from != "nobody" else 1)
        error = proposed.exception()
        if comes_from == "the old controller":
            assert error is None
        else:
            assert isinstance(error, KafkaError)
            assert error.code is ErrorCode.NOT_CONTROLLER
        await rig.stop()

    run(life())
