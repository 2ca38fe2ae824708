"""Disks that fill up, one after the other, and have room again: every log comes back, and nothing is lost.

Some brokers are started anew meanwhile, and some go on by themselves.
"""

import msgspec
import pytest

from tidelog.testing.sim.cluster.scenario import scenario_of
from tidelog.testing.sim.run import run_seed

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")


@pytest.mark.parametrize("seed", [3, 112, 212])
def test_every_log_comes_back(seed: int) -> None:
    """112: a decision whose record waited for room was made twice; 212: a coordinator served that had heard
    of nothing since its disk was full."""
    usual = scenario_of(seed)
    scenario = msgspec.structs.replace(usual, faults=("full_disk", "full_disk", *usual.faults[:2]))
    result = run_seed(seed, scenario)
    assert result.ok, "\n".join([*result.lines[-40:], *result.problems])
    assert any("accepts records again" in line for line in result.lines)
