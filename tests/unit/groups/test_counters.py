"""Rebalances and committed offsets are counted as they happen, and not again when a shard is loaded."""

from tests.unit.groups.conftest import Rig


def test_generations_and_commits(rig: Rig) -> None:
    counters = rig.shard._counters
    rig.stable()
    assert counters.rebalances >= 1
    before = counters.offset_commits
    rig.commit(offset=7, group="simple")
    rig.commit(offset=8, group="simple")
    assert counters.offset_commits == before + 2
    assert rig.reload()._counters.offset_commits == 0
